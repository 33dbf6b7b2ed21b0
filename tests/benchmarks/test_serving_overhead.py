"""Times of a single client, and of the model alone."""

from benchmarks.serving_overhead import HERE, PAUSED, alternately, print_overhead


def test_the_measurements_alternate():
    asked = []
    measures = {name: lambda name=name: asked.append(name) or [len(asked)] for name in "ab"}
    assert alternately(measures, rounds=3) == {"a": 3000, "b": 4000}
    assert asked == ["a", "b"] * 3


def test_differences_are_printed_for_the_protocols(capsys):
    print_overhead({"gRPC": 3.0, HERE: 1.5, PAUSED: 2.0}, ["gRPC"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "  gRPC: p50 3.00 ms; minus the model 1.50 ms, after pauses 1.00 ms"
    assert lines[2] == f"  {HERE}: p50 1.50 ms"
