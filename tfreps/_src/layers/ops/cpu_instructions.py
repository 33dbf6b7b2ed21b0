"""Reads which instruction sets this CPU has for matrix multiplications."""

import functools
import os
import pathlib

CPU_INFO = pathlib.Path("/proc/cpuinfo")  # only Linux has this file
# Instructions that multiply bfloat16 numbers, by their name on x86 or Arm, the fastest first.
BFLOAT16_INSTRUCTIONS = "amx_bf16", "avx512_bf16", "bf16"
# Environment variables that limit the instructions of oneDNN, and their values under which it
# multiplies no bfloat16 numbers.
LIMITS = "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"
WITHOUT_BFLOAT16 = {"SSE41", "AVX", "AVX2", "AVX2_VNNI", "AVX2_VNNI_2"}
WITHOUT_BFLOAT16 |= {"AVX512_CORE", "AVX512_CORE_VNNI"}


@functools.cache
def cpu_instructions(path: pathlib.Path = CPU_INFO) -> frozenset[str]:
    """Returns the instruction sets, such as `"avx2"`, that all processors of this machine have.

    The result is empty if the file `path` cannot be read.
    """
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").lower().splitlines()
    except OSError:
        return frozenset()
    pairs = (line.partition(":") for line in lines)
    found = [
        frozenset(names.split()) for key, _, names in pairs if key.strip() in ("flags", "features")
    ]
    return frozenset.intersection(*found) if found else frozenset()


def bfloat16_instructions() -> str | None:
    """Returns the instruction set with which TensorFlow multiplies bfloat16 matrices on this CPU.

    The result, such as `"AMX_BF16"`, is `None` if the CPU has no bfloat16 instructions, if the
    system is not Linux, or if an environment variable (`ONEDNN_MAX_CPU_ISA`, `DNNL_MAX_CPU_ISA` or
    `TF_ENABLE_ONEDNN_OPTS`) keeps TensorFlow from using these instructions. Multiplying in bfloat16
    is then slower than in float32.
    """
    limits = {os.environ.get(name, "").upper() for name in LIMITS}
    is_off = os.environ.get("TF_ENABLE_ONEDNN_OPTS", "").lower() in ("0", "false")
    if is_off or limits & WITHOUT_BFLOAT16:
        return None
    found = [name.upper() for name in BFLOAT16_INSTRUCTIONS if name in cpu_instructions()]
    return found[0] if found else None
