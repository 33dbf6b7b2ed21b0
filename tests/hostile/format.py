"""Format: one kind of hostile input, with the limits for its cases."""

import dataclasses
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Format:
    """Kind of hostile input.

    Args:
        name: The name in the table and in the seed of every case.
        cases: The number of cases in `make test-slow`.
        prepare: Function that takes an empty folder, may write files there, and returns the first
            argument of `ask`.
        ask: Function that runs one case. It takes the result of `prepare`, a seeded
            `random.Random` and the folder, and returns True if the input was accepted.
        refusals: Exceptions with which a reader may reject its input.
        seconds: Limit of the CPU time of a case, in all threads. A case that does not end within
            six times this limit counts as hung.
        megabytes: Limit of the growth of the process's memory over all cases.
        address_gigabytes: Limit of the additional address space.
        quick: If `True`, `make test` runs a few cases.
    """

    name: str
    cases: int
    prepare: Callable
    ask: Callable
    refusals: tuple = (ValueError, OSError)
    seconds: float = 5.0
    megabytes: float = 128.0
    address_gigabytes: float = 2.0
    quick: bool = False
