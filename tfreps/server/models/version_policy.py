"""VersionPolicy: chooses the versions of a model to serve."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class VersionPolicy:
    """Chooses the newest versions, all versions, or those that are named.

    Args:
        latest: how many of the newest; 0 for all.
        specific: numbers of versions; where any are given, these and no others.

    Example:
    >>> VersionPolicy().choose([1, 2, 10]), VersionPolicy(latest=0).choose([1, 2])
    ([10], [1, 2])
    >>> VersionPolicy(specific=(2, 7)).choose([1, 2, 10])
    [2]
    """

    latest: int = 1
    specific: tuple[int, ...] = ()

    def choose(self, found: list[int]) -> list[int]:
        """Returns the versions to serve among those found, ascending."""
        if self.specific:
            return sorted(set(self.specific) & set(found))
        return sorted(found)[-self.latest :]


def read_policy(text: str) -> VersionPolicy:
    """Parses a policy as a command line has it.

    Args:
        text: `all`, `latest`, `latest:2`, or numbers with commas between: `3,4`.

    Raises:
        ValueError: it is none of these.

    Example:
    >>> read_policy("latest:2"), read_policy("3,4").specific
    (VersionPolicy(latest=2, specific=()), (3, 4))
    """
    kind, _, count = text.partition(":")
    if text == "all":
        return VersionPolicy(latest=0)
    if kind == "latest" and (not count or (count.isascii() and count.isdigit() and int(count))):
        return VersionPolicy(latest=int(count or 1))
    numbers = text.split(",")
    if all(number.isascii() and number.isdigit() for number in numbers):
        return VersionPolicy(specific=tuple(map(int, numbers)))
    raise ValueError(f"Versions are all, latest, latest:2 or numbers as 3,4, not {text!r}.")
