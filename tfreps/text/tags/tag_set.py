"""TagSet: the tags of tokens, or the labels of texts, in the order of their ids."""

import os
from collections.abc import Iterable, Sequence

import numpy as np

from tfreps.files.atomic_files import write_text
from tfreps.files.utf8_files import read_utf8
from tfreps.text.tags import tag_schemes, tag_sequences


class TagSet:
    """Names and their ids, which are their places in the list; there is no padding id.

    On disk it is UTF-8 text with one name per line.

    Args:
        names: the tags, or labels, in the order of their ids.
        scheme: `"bio"`, `"iob1"`, `"bioes"`, `"bilou"`, `"bmes"`, or None for plain tags and
            for labels.
        source: str. How errors call the list; `read` puts the file name here.
        word: str. How errors call a name: `"tag"` or `"label"`.

    Raises:
        ValueError: no names at all; a name that comes twice, is blank, has white space around it
            or a line end in it, or is outside the scheme.

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
        """Collects the tags of a corpus.

        The order depends on the set of tags alone: `O` first, then by type and within a type by
        the letters of the scheme; plain tags by Unicode code points.

        Args:
            sequences: the tags of each sentence.
            scheme: see the class.
            source: str. Name of the corpus, for errors.
            word: see the class.
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
        """Reads the file that `write` writes; errors name the file and the line."""
        text = read_utf8(path, f"the {word}s")
        lines = text.removesuffix("\n").split("\n") if text else []
        return cls([line.removesuffix("\r") for line in lines], scheme, str(path), word)

    def write(self, path: str | os.PathLike) -> None:
        """Writes the file that `read` reads, whole or not at all."""
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
        """Returns the ids of the tags of a sentence (or of one label, in a list of one).

        Args:
            names: the tags.
            source: name of the file they come from, for the error.
            line: the line of the sentence, or of each tag.

        Raises:
            ValueError: a name that is not in the list; names it, the file and the line.
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
            f"{where}: the {self.word} {names[new]!r} is none of the {len(self)} {self.word}s of "
            f"{self.source} ({known}), which a model is built for. Correct it, leave the example "
            f"out, or train on text in which this {self.word} occurs."
        )

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Returns the names of ids."""
        ids = [int(index) for index in ids]
        for index in ids:
            if not 0 <= index < len(self):
                raise ValueError(
                    f"{index} is no id of a {self.word}: expected 0 to {len(self) - 1}."
                )
        return [self.names[index] for index in ids]

    def allowed_transitions(self) -> np.ndarray:
        """Which tag may follow which, bool `[K + 2, K + 2]`; see `allowed_transitions`."""
        return tag_schemes.allowed_transitions(self.names, self.scheme)


def _check_names(names: list[str], source: str, word: str) -> None:
    if not names:
        raise ValueError(f"{source}: empty. Expected at least one {word}, one on each line.")
    first_line: dict[str, int] = {}
    for line, name in enumerate(names, 1):
        if not isinstance(name, str):
            raise ValueError(f"{source}, line {line}: expected a str, got {name!r}.")
        if not name.strip():
            raise ValueError(f"{source}, line {line}: blank. Every line must hold one {word}.")
        if name != name.strip() or "\n" in name or "\r" in name or "\0" in name:
            raise ValueError(
                f"{source}, line {line}: white space around {name!r}, or a line end or NUL in it. "
                f"A {word} must be written in the same way everywhere; remove them."
            )
        if first_line.setdefault(name, line) != line:
            raise ValueError(
                f"{source}, line {line}: {name!r} is already on line {first_line[name]}. Every "
                f"{word} must occur once, since its line is its id."
            )
