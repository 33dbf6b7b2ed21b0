"""Format: one kind of hostile input, and what has to hold for every case of it."""

import dataclasses
from collections.abc import Callable


@dataclasses.dataclass(frozen=True)
class Format:
    """What a campaign needs to know about a kind of input.

    Args:
        name: in the table, and in the seed of every case.
        cases: how many `make test-slow` tries.
        prepare: function from an empty folder to what `ask` needs; may leave files there.
        ask: function from that, a seeded `random.Random` and the folder; does one case. It returns
            whether the input was taken.
        refusals: exceptions by which a reader may refuse its input.
        seconds: of the CPU that a case may take, in all threads. One that does not come to its end
            for six times as long hangs.
        megabytes: bound on what the memory of the process grows by, in all cases together.
        address_gigabytes: what a case may ask the system for beyond what is there already.
    """

    name: str
    cases: int
    prepare: Callable
    ask: Callable
    refusals: tuple = (ValueError, OSError)
    seconds: float = 5.0
    megabytes: float = 128.0
    address_gigabytes: float = 2.0
