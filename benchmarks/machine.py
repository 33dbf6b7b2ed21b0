"""Prints the machine on which a benchmark runs: processor, instruction sets, cores and GEMM.

    python -m benchmarks.machine

"GEMM" is the speed of multiplying two 2048 x 2048 matrices in GFLOP/s (benchmarks/gemm.py). On a
machine without instructions for bfloat16, matrix multiplications in bfloat16 are slower than in
float32.
"""

import datetime
import os
import pathlib
import platform
import re

from benchmarks.rows import print_table

# The instruction sets on which the speed of matrix multiplications depends.
SETS = "avx2 avx_vnni avx512f avx512_vnni avx512_bf16 amx_bf16 amx_int8 sve bf16".split()


def main(argv=None):
    from benchmarks.gemm import gemm
    from tfreps._src.layers.ops.cpu_instructions import cpu_instructions

    sets = ", ".join(name for name in SETS if name in cpu_instructions())
    rates = f"{gemm():.0f}", f"{gemm(dtype='bfloat16'):.0f}"
    headings = "date | processor | instruction sets | cores | GEMM float32 | GEMM bfloat16"
    print_table(headings, [(datetime.date.today(), processor(), sets, os.cpu_count(), *rates)])
    return 0


def processor(path="/proc/cpuinfo"):
    """Returns the name of the processor, on Linux as in /proc/cpuinfo."""
    path = pathlib.Path(path)
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.M)
    return found[1].strip() if found else platform.processor() or platform.machine()


if __name__ == "__main__":
    raise SystemExit(main())
