import datetime

from benchmarks import gemm, machine
from tfreps.layers.ops import cpu_instructions


def test_the_name_of_the_processor(tmp_path):
    path = tmp_path / "cpuinfo"
    assert machine.processor(path)
    path.write_text("processor : 0\nmodel name\t: Fast (R) CPU\nflags\t\t: fpu avx2\n")
    assert machine.processor(path) == "Fast (R) CPU"


def test_prints_one_row(monkeypatch, capsys):
    rates = {"float32": 200.0, "bfloat16": 371.4}
    sets = frozenset(["fpu", "avx512f", "avx2"])
    monkeypatch.setattr(gemm, "gemm", lambda dtype="float32": rates[dtype])
    monkeypatch.setattr(cpu_instructions, "cpu_instructions", lambda: sets)
    monkeypatch.setattr(machine, "processor", lambda: "Fast CPU")
    assert machine.main([]) == 0
    row = capsys.readouterr().out.splitlines()[-1]
    assert row.startswith(f"| {datetime.date.today()} | Fast CPU | avx2, avx512f | ")
    assert row.endswith(" | 200 | 371 |")
