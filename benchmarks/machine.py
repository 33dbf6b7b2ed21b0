"""Prints the machine on which a benchmark runs: processor, instruction sets, cores and GEMM.

    python -m benchmarks.machine

"GEMM" is the speed of multiplying two 2048 x 2048 matrices in GFLOP/s (benchmarks/gemm.py). On a
machine without instructions for bfloat16, matrix multiplications in bfloat16 are slower than in
float32.
"""

import datetime
import os

from benchmarks.runner import instruction_sets, print_table, processor


def main(argv=None):
    from benchmarks.gemm import gemm

    machine = datetime.date.today(), processor(), ", ".join(instruction_sets()), os.cpu_count()
    headings = "date | processor | instruction sets | cores | GEMM float32 | GEMM bfloat16"
    print_table(headings, [(*machine, f"{gemm():.0f}", f"{gemm(dtype='bfloat16'):.0f}")])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
