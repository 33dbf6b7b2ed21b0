"""VersionPolicy: selects the versions of a model to serve."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class VersionPolicy:
    """Policy that selects the newest versions, all versions or specific versions.

    Args:
        latest: int. Number of newest versions to serve. If 0, all versions are served. Defaults to
            1.
        specific: Tuple of int. Version numbers to serve. If not empty, `latest` is ignored.
            Defaults to `()`.

    Example:
    >>> VersionPolicy().choose([1, 2, 10]), VersionPolicy(latest=0).choose([1, 2])
    ([10], [1, 2])
    >>> VersionPolicy(specific=(2, 7)).choose([1, 2, 10])
    [2]
    """

    latest: int = 1
    specific: tuple[int, ...] = ()

    def choose(self, found: list[int]) -> list[int]:
        """Returns the versions to serve among those found, in ascending order."""
        if self.specific:
            return sorted(set(self.specific) & set(found))
        return sorted(found)[-self.latest :]


def read_policy(text: str) -> VersionPolicy:
    """Parses a version policy from the command line.

    Args:
        text: str. `"all"`, `"latest"`, `"latest:N"` for the N newest versions (N at least 1), or
            comma-separated version numbers such as `"3,4"`.

    Returns:
        A `VersionPolicy`.

    Raises:
        ValueError: If `text` has none of these forms.

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
    raise ValueError(
        "A version policy must be all, latest, latest:N for the N newest versions (N at least 1), "
        f"or version numbers such as 3,4; got {text!r}."
    )
