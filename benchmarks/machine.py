"""Prints the machine on which a benchmark runs: processor, instruction sets, cores and products.

    python -m benchmarks.machine

"GEMM" is the speed of the product of two 2048 x 2048 matrices in GFLOP/s (benchmarks/gemm.py). On a
machine without instructions for bfloat16, products of bfloat16 are slower than those of float32.
"""

import datetime
import os
import pathlib
import platform
import re

# Of the instruction sets in /proc/cpuinfo, those that the speed of products depends on.
SETS = (
    "avx2",
    "avx512f",
    "avx512_vnni",
    "avx512_bf16",
    "amx_bf16",
    "amx_int8",
    "asimd",
    "sve",
    "bf16",
)


def main(argv=None):
    from benchmarks.gemm import gemm

    info = read_cpu_info()
    print("| date | processor | instruction sets | cores | GEMM float32 | GEMM bfloat16 |")
    print("|---|---|---|---|---|---|")
    print(
        f"| {datetime.date.today()} | {processor(info)} | {', '.join(instruction_sets(info))} | "
        f"{os.cpu_count()} | {gemm():.0f} | {gemm(dtype='bfloat16'):.0f} |"
    )
    return 0


def read_cpu_info(path="/proc/cpuinfo"):
    """Returns the text of /proc/cpuinfo, or an empty text on other systems than Linux."""
    path = pathlib.Path(path)
    return path.read_text(encoding="utf-8") if path.exists() else ""


def processor(info):
    """Returns the name of the processor.

    Example:
    >>> processor("model name : Fast CPU 3000\\nflags : avx2")
    'Fast CPU 3000'
    """
    found = re.search(r"^model name\s*:\s*(.+)$", info, re.M)
    return found[1].strip() if found else platform.processor() or platform.machine()


def instruction_sets(info):
    """Returns the names in `SETS` that the processor has.

    Example:
    >>> instruction_sets("flags : fpu avx2 avx512f")
    ['avx2', 'avx512f']
    """
    found = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", info, re.M)
    names = found[1].split() if found else []
    return [name for name in SETS if name in names]


if __name__ == "__main__":
    raise SystemExit(main())
