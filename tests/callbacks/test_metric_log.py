"""Tests the common parts of training logs: history, progress line, divergence."""

import json

import pytest

from tfreps._src.callbacks.metric_log import MetricLog, check_finite, clock


def make_log(folder, step=4, **options):
    log = MetricLog(folder, **options)
    log.step = step
    return log


def test_history_of_steps_that_come_again_is_dropped(tmp_path):
    path = tmp_path / "history.jsonl"
    path.write_text('{"step": 2, "a": 1}\n{"step": 4, "a": 1}\n{"step": 6, "a": 1}\n{"step": 2, "a')
    log = make_log(tmp_path)
    log._forget_later_steps()
    log._append({"step": 6, "b": 2})
    steps = [json.loads(line)["step"] for line in path.read_text().splitlines()]
    assert steps == [2, 4, 6] and not path.with_name("history.jsonl.tmp").exists()


def test_lines_of_progress_go_to_whoever_shows_them(tmp_path, capsys):
    said = []
    log = make_log(tmp_path, print_fn=lambda text, **how: said.append((text, how)))
    log._say("half way", progress=True)
    log._say("done", final=True)
    assert said == [
        ("half way", {"final": False, "progress": True}),
        ("done", {"final": True, "progress": False}),
    ]
    make_log(tmp_path)._say("unheard", final=True)
    assert capsys.readouterr() == ("", "")


def test_event_files_of_both_runs(tmp_path):
    log = make_log(tmp_path)
    log._write("validation", 4, {"f1": 0.5})
    log._flush()
    data = b"".join(path.read_bytes() for path in (tmp_path / "validation").iterdir())
    assert b"f1" in data


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_run_that_diverges_ends(value):
    check_finite({"f1": value, "val_loss": value, "loss": 1.0}, 3)
    with pytest.raises(ValueError, match="diverged: at step 3 the sampled perplexity is"):
        check_finite({"sampled_perplexity": value}, 3)


@pytest.mark.parametrize("seconds, text", [(0, "0:00"), (61.9, "1:01"), (7325, "2:02:05")])
def test_the_time_left_is_readable(seconds, text):
    assert clock(seconds) == text
