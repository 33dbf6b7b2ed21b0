"""The CPU's instructions are read from files in the formats of x86 and Arm."""

import pytest

from tfreps._src.layers.ops import cpu_instructions as module
from tfreps._src.layers.ops.cpu_instructions import bfloat16_instructions, cpu_instructions

X86 = """\
processor\t: 0
model name\t: Some CPU
flags\t\t: fpu sse4_1 avx2 avx512f avx512_bf16
bugs\t\t: bf16 sysret_ss_attrs

processor\t: 1
flags\t\t: fpu sse4_1 avx2 avx512f avx512_bf16 {more}
"""
ARM = "processor\t: 0\nFeatures\t: fp asimd i8mm BF16\nCPU implementer\t: 0x41\n"


def of(monkeypatch, instructions):
    for name in (*module.LIMITS, "TF_ENABLE_ONEDNN_OPTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(module, "cpu_instructions", lambda: frozenset(instructions))


def test_what_all_processors_have(tmp_path):
    path = tmp_path / "cpuinfo"
    path.write_text(X86.format(more="amx_bf16"))
    assert cpu_instructions(path) == {"fpu", "sse4_1", "avx2", "avx512f", "avx512_bf16"}
    path = tmp_path / "arm"
    path.write_text(ARM)
    assert cpu_instructions(path) == {"fp", "asimd", "i8mm", "bf16"}


@pytest.mark.parametrize("text", ["", "flags", "flags :", "\0\xff: avx2", "model: flags: avx2"])
def test_files_without_instructions(tmp_path, text):
    path = tmp_path / "cpuinfo"
    path.write_bytes(text.encode("latin-1"))
    assert cpu_instructions(path) == frozenset()


@pytest.mark.parametrize(
    "instructions, expected",
    [
        ((), None),
        (("avx2", "avx512f", "avx512_vnni"), None),
        (("avx2", "avx512_bf16"), "AVX512_BF16"),
        (("avx512_bf16", "amx_bf16", "amx_tile"), "AMX_BF16"),
        (("asimd", "bf16"), "BF16"),
    ],
)
def test_bfloat16_instructions(monkeypatch, instructions, expected):
    of(monkeypatch, instructions)
    assert bfloat16_instructions() == expected


@pytest.mark.parametrize(
    "name, value, is_used",
    [
        ("ONEDNN_MAX_CPU_ISA", "AVX2", False),
        ("ONEDNN_MAX_CPU_ISA", "avx512_core", False),
        ("DNNL_MAX_CPU_ISA", "AVX512_CORE_VNNI", False),
        ("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16", True),
        ("ONEDNN_MAX_CPU_ISA", "DEFAULT", True),
        ("TF_ENABLE_ONEDNN_OPTS", "0", False),
        ("TF_ENABLE_ONEDNN_OPTS", "1", True),
    ],
)
def test_environment_variables_that_turn_them_off(monkeypatch, name, value, is_used):
    of(monkeypatch, ["avx512_bf16"])
    monkeypatch.setenv(name, value)
    assert (bfloat16_instructions() is not None) == is_used
