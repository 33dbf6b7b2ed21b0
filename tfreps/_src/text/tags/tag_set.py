"""TagSet: the tags of tokens, or the labels of texts, in the order of their ids."""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import numpy as np

from tfreps._src.files.argument_checks import as_list, check_list
from tfreps._src.files.atomic_files import write_text
from tfreps._src.files.utf8_files import read_utf8, split_lines
from tfreps._src.text.tags import tag_schemes, tag_sequences
from tfreps._src.text.tags.tag_schemes import Scheme

Word = Literal["tag", "label"]
SEPARATOR = "|"  # separates the possible tags of a token
ANY = "_"  # stands for all tags


class TagSet:
    """List of tags or labels whose ids are their positions in the list.

    There is no padding id. The file format is UTF-8 text with one name per line.

    Args:
        names: iterable of str. The tags or labels in the order of their ids.
        scheme: str or None. `"bio"`, `"iob1"`, `"bioes"`, `"bilou"` or `"bmes"`. If `None`, the
            names are plain tags or labels. Defaults to `None`.
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
        >>> from tfreps.tags import TagSet
        >>> tag_set = TagSet.from_sequences([["B-PER", "O"], ["O", "B-PER", "I-PER"]], "bio")
        >>> tag_set.names, tag_set.encode(["O", "I-PER"]), tag_set.decode([1, 2])
        (['O', 'B-PER', 'I-PER'], [0, 2], ['B-PER', 'I-PER'])
    """

    def __init__(
        self,
        names: Iterable[str],
        scheme: Scheme | None = None,
        source: str = "tags",
        word: Word = "tag",
    ):
        self.names: list[str] = list(names)
        self.scheme: Scheme | None = scheme
        self.source: str = str(source)
        self.word: Word = word
        tag_schemes.check_scheme(scheme)
        _check_names(self.names, scheme, self.source, word)
        self._ids = {name: index for index, name in enumerate(self.names)}

    @classmethod
    def from_sequences(
        cls,
        sequences: Iterable[Iterable[str]],
        scheme: Scheme | None = None,
        source: str = "tags",
        word: Word = "tag",
    ) -> "TagSet":
        """Creates a `TagSet` of the distinct tags or labels of a corpus.

        The order depends only on the set of tags: `O`, if present, is first, and the other tags
        are sorted by type and, within a type, by the order of the letters in the scheme. Plain
        tags are sorted by Unicode code points.

        Args:
            sequences: iterable of iterables of str. The tags of each sentence, or lists of labels.
            scheme, source, word: Arguments of `TagSet`.

        Raises:
            ValueError: If a sequence is a string, or `TagSet` rejects a name or the scheme.
        """
        tag_schemes.check_scheme(scheme)
        found = set()
        for sequence in sequences:
            check_list("Each of `sequences`", sequence, f"{word}s")
            found.update(sequence)
        for name in found:
            _check_name(name, scheme, source, word)
        letters = [] if scheme is None else list(tag_schemes.LETTERS[scheme])

        def key(name: str) -> tuple[bool, str, int, str]:
            letter, _, kind = name.partition("-")
            if letter not in letters:
                return name != tag_schemes.OUTSIDE, "", 0, name
            return True, kind, letters.index(letter), name

        return cls(sorted(found, key=key), scheme, source, word)

    @classmethod
    def read(
        cls, path: str | os.PathLike[str], scheme: Scheme | None = None, word: Word = "tag"
    ) -> "TagSet":
        """Reads a file with one name per line, such as a file written by `write`.

        Args:
            path: str or path-like object. Path of the file, which error messages name.
            scheme, word: Arguments of `TagSet`.

        Raises:
            ValueError: If the file cannot be read, or `TagSet` rejects a name or the scheme.
        """
        return cls(split_lines(read_utf8(path, f"the {word}s")), scheme, str(path), word)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the names to the file `path`, one per line. The write is atomic."""
        write_text(path, "".join(name + "\n" for name in self.names))

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: str) -> bool:
        return name in self._ids

    def encode(
        self,
        names: Sequence[str],
        source: str | None = None,
        line: int | Sequence[int] | None = None,
    ) -> list[int]:
        """Returns the ids of tags or labels.

        Args:
            names: sequence of str. The tags of a sentence, or labels.
            source: str or None. File that contains the names, for error messages. Defaults to
                `None`.
            line: int, sequence of int, or None. Line number of the sentence, or of each name, for
                error messages. Defaults to `None`.

        Raises:
            ValueError: If `names` is a string, or a name is not in the list.
        """
        names = as_list("`names`", names, f"{self.word}s")
        return [self._id(name, i, source, line) for i, name in enumerate(names)]

    def encode_partial(
        self,
        names: Sequence[str],
        source: str | None = None,
        line: int | Sequence[int] | None = None,
    ) -> np.ndarray:
        """Returns the possible tags of each token of a partly tagged sentence.

        Args:
            names: sequence of str. For each token, a tag; several tags, separated by `|`; or `_` if
                the tag is unknown.
            source, line: As in `encode`.

        Returns:
            NumPy array, bool `[T, K]`. True for the possible tags of each token.

        Raises:
            ValueError: If `names` is a string, or a name is not in the list.

        Example:
            >>> TagSet(["O", "B-PER", "I-PER"], "bio").encode_partial(["O|B-PER", "_"]).tolist()
            [[True, True, False], [True, True, True]]
        """
        names = as_list("`names`", names, f"{self.word}s")
        possible = np.zeros([len(names), len(self)], bool)
        for token, name in enumerate(names):
            ids = [self._id(each, token, source, line) for each in possible_names(name)]
            possible[token, ids or slice(None)] = True
        return possible

    def _id(
        self, name: str, position: int, source: str | None, line: int | Sequence[int] | None
    ) -> int:
        """Returns the id of the tag at a position of a sentence, or of a label."""
        if name in self._ids:
            return self._ids[name]
        source = source or f"{self.word}s"
        where = tag_sequences.place(source, line, position)
        if self.word != "tag" and isinstance(line, int):
            where = f"{source}, line {line}"
        known = ", ".join(self.names[:30]) + (", ..." if len(self) > 30 else "")
        raise ValueError(
            f"{where}: the {self.word} {name!r} is not one of the {len(self)} "
            f"{self.word}s that the model knows ({known}). Correct the {self.word}, remove the "
            f"example, or train on text that has this {self.word}."
        )

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Returns the names that have the given ids; other ids raise a ValueError."""
        ids = [int(index) for index in ids]
        for index in ids:
            if not 0 <= index < len(self):
                raise ValueError(
                    f"`ids` must be ids of {self.word}s, from 0 to {len(self) - 1}; got {index}."
                )
        return [self.names[index] for index in ids]

    def allowed_transitions(self) -> np.ndarray:
        """Returns the allowed transitions between the K tags, bool `[K + 2, K + 2]`.

        `tags.allowed_transitions` describes the array.
        """
        return tag_schemes.allowed_transitions(self.names, self.scheme)


def possible_names(name: str) -> list[str]:
    """Returns the tags in a name such as `"B-PER|O"`; none for `"_"`, which stands for all tags."""
    return [] if name == ANY else name.split(SEPARATOR)


def _check_names(names: list[str], scheme: Scheme | None, source: str, word: Word) -> None:
    if not names:
        raise ValueError(f"{source}: found no {word}s. Expected at least one.")
    first_line: dict[str, int] = {}
    for line, name in enumerate(names, 1):
        _check_name(name, scheme, f"{source}, line {line}", word)
        if first_line.setdefault(name, line) != line:
            raise ValueError(
                f"{source}, line {line}: {name!r} is already on line {first_line[name]}. Every "
                f"{word} must occur only once, because its line determines its id."
            )


def _check_name(name: str, scheme: Scheme | None, where: str, word: Word) -> None:
    """Raises a ValueError, whose message begins with `where`, if a name is not valid."""
    if not isinstance(name, str):
        raise ValueError(f"{where}: expected a str; got {name!r}.")
    if not name.strip():
        raise ValueError(f"{where}: a {word} must not be blank; got {name!r}.")
    if name != name.strip() or "\n" in name or "\r" in name or "\0" in name:
        raise ValueError(
            f"{where}: a {word} must not start or end with white space or contain a line break or "
            f"NUL; got {name!r}. Remove these characters."
        )
    if scheme is not None:
        try:
            tag_schemes.tag_parts(name, scheme)
        except ValueError as error:
            raise tag_sequences.not_valid(where, error) from None
