"""TagSet: the tags of tokens, or the labels of texts, in the order of their ids."""

import os
from collections.abc import Iterable, Sequence

import numpy as np

from tfreps.files.atomic_files import write_text
from tfreps.files.utf8_files import read_utf8
from tfreps.text.tags import tag_schemes, tag_sequences


class TagSet:
    """List of tags or labels whose ids are their positions in the list.

    There is no padding id. The file format is UTF-8 text with one name per line.

    Args:
        names: iterable of str. The tags or labels in the order of their ids.
        scheme: str or None. `"bio"`, `"iob1"`, `"bioes"`, `"bilou"` or `"bmes"`. `None` stands
            for plain tags and for labels. Defaults to `None`.
        source: str. Name of the list in error messages; `read` sets it to the path of the file.
            Defaults to `"tags"`.
        word: str. Term for a name in error messages, `"tag"` or `"label"`. Defaults to `"tag"`.

    Attributes:
        names: list of str. The tags or labels in the order of their ids.

    Raises:
        ValueError: If there are no names; a name is repeated, blank or not a string, starts or
            ends with white space, contains a line break or NUL, or is not valid in the scheme; or
            the scheme is unknown.

    Example:
        >>> from tfreps.text import TagSet
        >>> tag_set = TagSet.from_sequences([["B-PER", "O"], ["O", "B-PER", "I-PER"]], "bio")
        >>> tag_set.names, tag_set.ids(["O", "I-PER"]), tag_set.decode([1, 2])
        (['O', 'B-PER', 'I-PER'], [0, 2], ['B-PER', 'I-PER'])
    """

    def __init__(
        self,
        names: Iterable[str],
        scheme: str | None = None,
        source: str = "tags",
        word: str = "tag",
    ):
        self.names = list(names)
        self.scheme = scheme
        self.source = str(source)
        self.word = word
        tag_schemes.check_scheme(scheme)
        _check_names(self.names, self.source, word)
        tag_sequences.check(self.names, scheme, self.source, range(1, len(self.names) + 1))
        self._ids = {name: index for index, name in enumerate(self.names)}

    @classmethod
    def from_sequences(
        cls,
        sequences: Iterable[Iterable[str]],
        scheme: str | None = None,
        source: str = "tags",
        word: str = "tag",
    ) -> "TagSet":
        """Creates a `TagSet` of the distinct tags of a corpus.

        The order depends only on the set of tags: `O` is first, and the other tags are sorted by
        type and, within a type, in the order of the scheme's letters. Plain tags are sorted by
        Unicode code points.

        Args:
            sequences: iterable of iterables of str. The tags of each sentence.
            scheme: str or None. Tag scheme; see `TagSet`. Defaults to `None`.
            source: str. Name of the corpus in error messages. Defaults to `"tags"`.
            word: str. Term for a name in error messages, `"tag"` or `"label"`. Defaults to
                `"tag"`.

        Returns:
            `TagSet`.

        Raises:
            ValueError: If there are no tags, a tag is invalid, or the scheme is unknown.
        """
        tag_schemes.check_scheme(scheme)
        found = {name for sequence in sequences for name in sequence}
        letters = list(tag_schemes.LETTERS.get(scheme, ()))

        def key(name):
            letter, _, kind = name.partition("-")
            if letter not in letters:
                return name != tag_schemes.OUTSIDE, "", 0, name
            return True, kind, letters.index(letter), name

        return cls(sorted(found, key=key), scheme, source, word)

    @classmethod
    def read(
        cls, path: str | os.PathLike, scheme: str | None = None, word: str = "tag"
    ) -> "TagSet":
        """Reads a file with one name per line, such as a file written by `write`.

        Args:
            path: str or path-like object. Path of the file.
            scheme: str or None. Tag scheme; see `TagSet`. Defaults to `None`.
            word: str. Term for a name in error messages, `"tag"` or `"label"`. Defaults to
                `"tag"`.

        Returns:
            `TagSet`.

        Raises:
            ValueError: If the file cannot be read or a name is invalid. The message names the
                file and the line.
        """
        text = read_utf8(path, f"the {word}s")
        lines = text.removesuffix("\n").split("\n") if text else []
        return cls([line.removesuffix("\r") for line in lines], scheme, str(path), word)

    def write(self, path: str | os.PathLike) -> None:
        """Writes the names to a file that `read` can read. The write is atomic."""
        write_text(path, "".join(name + "\n" for name in self.names))

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: str) -> bool:
        return name in self._ids

    def ids(
        self,
        names: Sequence[str],
        source: str | None = None,
        line: int | Sequence[int] | None = None,
    ) -> list[int]:
        """Returns the ids of tags or labels.

        Args:
            names: sequence of str. The tags of a sentence, or labels.
            source: str or None. Name of their file in error messages. Defaults to `None`.
            line: int, sequence of int, or None. Line number of the sentence, or of each name, in
                error messages. Defaults to `None`.

        Returns:
            list of int. The ids.

        Raises:
            ValueError: If a name is not in the list. The message gives the name, the file and the
                line.
        """
        try:
            return [self._ids[name] for name in names]
        except KeyError:
            new = next(i for i, name in enumerate(names) if name not in self._ids)
        where = tag_sequences.place(source or f"{self.word}s", line, new)
        if self.word != "tag" and isinstance(line, int):
            where = f"{source}, line {line}"
        known = ", ".join(self.names[:30]) + (", ..." if len(self) > 30 else "")
        raise ValueError(
            f"{where}: the {self.word} {names[new]!r} is not one of the {len(self)} {self.word}s "
            f"of {self.source} ({known}), the only ones that the model knows. Correct it, "
            f"remove the example, or train on text that contains this {self.word}."
        )

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Returns the names that have the given ids.

        Args:
            ids: iterable of int. The ids.

        Returns:
            list of str. The tags or labels.

        Raises:
            ValueError: If an id is negative, or not less than the number of names.
        """
        ids = [int(index) for index in ids]
        for index in ids:
            if not 0 <= index < len(self):
                raise ValueError(
                    f"`ids` must be ids of {self.word}s, from 0 to {len(self) - 1}; got {index}."
                )
        return [self.names[index] for index in ids]

    def allowed_transitions(self) -> np.ndarray:
        """Returns the result of `tags.allowed_transitions` for the names, bool `[K + 2, K + 2]`."""
        return tag_schemes.allowed_transitions(self.names, self.scheme)


def _check_names(names: list[str], source: str, word: str) -> None:
    if not names:
        raise ValueError(f"{source}: found no {word}s. Expected one {word} per line.")
    first_line: dict[str, int] = {}
    for line, name in enumerate(names, 1):
        if not isinstance(name, str):
            raise ValueError(f"{source}, line {line}: expected a str; got {name!r}.")
        if not name.strip():
            raise ValueError(
                f"{source}, line {line}: the line is blank. Every line must contain one {word}."
            )
        if name != name.strip() or "\n" in name or "\r" in name or "\0" in name:
            raise ValueError(
                f"{source}, line {line}: a {word} must not start or end with white space or "
                f"contain a line break or NUL; got {name!r}. Remove these characters."
            )
        if first_line.setdefault(name, line) != line:
            raise ValueError(
                f"{source}, line {line}: {name!r} is already on line {first_line[name]}. Every "
                f"{word} must occur only once, because its line determines its id."
            )
