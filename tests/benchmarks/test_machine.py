import datetime

from benchmarks import gemm, machine

INTEL = "processor : 0\nmodel name\t: Fast (R) CPU\nflags\t\t: fpu avx2 avx512f amx_bf16\n"
ARM = "processor\t: 0\nFeatures\t: fp asimd bf16\n"


def test_processor_and_instruction_sets():
    assert machine.processor(INTEL) == "Fast (R) CPU"
    assert machine.instruction_sets(INTEL) == ["avx2", "avx512f", "amx_bf16"]
    assert machine.instruction_sets(ARM) == ["asimd", "bf16"]
    assert machine.processor(ARM) and machine.instruction_sets("") == []


def test_other_systems_have_no_file(tmp_path):
    assert machine.read_cpu_info(tmp_path / "cpuinfo") == ""


def test_prints_one_row(monkeypatch, capsys):
    rates = {"float32": 200.0, "bfloat16": 371.4}
    monkeypatch.setattr(gemm, "gemm", lambda dtype="float32": rates[dtype])
    monkeypatch.setattr(machine, "read_cpu_info", lambda: INTEL)
    assert machine.main([]) == 0
    row = capsys.readouterr().out.splitlines()[-1]
    assert row.startswith(f"| {datetime.date.today()} | Fast (R) CPU | avx2, avx512f, amx_bf16 | ")
    assert row.endswith(" | 200 | 371 |")
