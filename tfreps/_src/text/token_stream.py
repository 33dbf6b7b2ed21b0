"""TokenStream: splits a text that arrives in parts into the tokens of the whole text."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from tfreps._src.text.tokenizers import Method, WordSplitter, check_method, tokenize

# White space at which every BERT tokenizer ends a word. Some of them drop other white space and
# join the characters around it.
_BERT_WHITE_SPACE = frozenset(" \t\n\r")
_IDEOGRAPHS = "\u4e00", "\u9fff"  # first and last character of the most frequent ideographs


class StreamToken(NamedTuple):
    """Token of a text that arrives in parts, with its position in the whole text.

    The token begins at the character `start` and ends before the character `end`.
    `source` is the part of the text from the end of the previous token to `end`.
    """

    token: str
    start: int
    end: int
    source: str


class TokenStream:
    """Tokenizer of a text that arrives in parts, with the same tokens as for the whole text.

    A token is final when no text that follows can change it. The tokens at the end of the text so
    far may still change. The tokenizer determines which part of the text may change:

    - "characters" and "all_characters": nothing.
    - "words": the last token, unless white space follows it.
    - "spaces": the text after the last white space.
    - "treebank": the last word that white space follows, and the text after this word, because
      whether a period is a token depends on the next word.
    - BERT: the text after the last space, tab or line end, or after the last Chinese character if
      the tokenizer separates Chinese characters.

    The parts of the text are strings, so their boundaries are never inside a character. They may be
    inside a token, between a character and its combining marks, or inside `\\r\\n`.

    Args:
        method: str or tokenizer that `tfreps.text.tokenize` accepts. Defaults to `"spaces"`.

    Example:
        >>> stream = TokenStream("words")
        >>> for part in ["It's a do", "g."]:
        ...     final, open_tokens = stream.append(part)
        ...     print([t.token for t in final], [t.token for t in open_tokens])
        ['It', "'", 's', 'a'] ['do']
        ['dog'] ['.']
    """

    def __init__(self, method: Method | WordSplitter = "spaces"):
        check_method(method)
        self.method: Method | WordSplitter = method
        self._held = ""  # text that is not in a final token
        self._offset = 0  # number of characters before the held text
        self._gap = ""  # text between the last final token and the held text
        self._cut = _cuts(method)

    def append(self, text: str) -> tuple[list[StreamToken], list[StreamToken]]:
        """Adds a part of the text, and returns its tokens.

        Args:
            text: str. The part of the text that follows the previous parts.

        Returns:
            Tuple of two lists of `StreamToken`: the tokens that have become final, and the tokens
            after them, which may still change. The second list is computed as if the text ended
            here.
        """
        held = self._held + text
        cut = self._cut(held)
        if self.method in ("treebank", "words"):
            # Both parts are tokenized together, because the text after the cut affects the tokens
            # before it.
            rows = tokenize([held], self.method)
        else:
            rows = tokenize([held[:cut], held[cut:]], self.method)
        found = list(self._placed(held, [token for row in rows for token in row]))
        if self.method == "words" and found and not held[-1].isspace():
            cut = found[-1].start - self._offset
        final = [token for token in found if token.end <= self._offset + cut]
        end = final[-1].end - self._offset if final else 0
        self._gap = held[end:cut] if final else self._gap + held[:cut]
        self._held = held[cut:]
        self._offset += cut
        return final, found[len(final) :]

    def close(self) -> list[StreamToken]:
        """Returns the remaining tokens, which are final because the text has ended."""
        _, rest = self.append("")
        return rest

    def _placed(self, text: str, tokens: Sequence[str]) -> Iterator[StreamToken]:
        """Yields a `StreamToken` for each of `tokens`, the tokens of `text`."""
        gap = self._gap
        last = 0
        for token, (start, end) in zip(tokens, _places(text, tokens), strict=True):
            yield StreamToken(token, self._offset + start, self._offset + end, gap + text[last:end])
            gap, last = "", end


def _places(text: str, tokens: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yields the start and the end of each token in the text.

    In the text, a token may contain characters that BERT's tokenizers drop, such as control
    characters.

    >>> list(_places("a \\x00bc", ["a", "bc"]))
    [(0, 1), (3, 5)]
    """
    if len(tokens) == len(text):  # each character is a token
        yield from ((place, place + 1) for place in range(len(text)))
        return
    end = 0
    for token in tokens:
        start = text.index(token[0], end)
        end = start + len(token)
        if not text.startswith(token, start):
            end = start
            for character in token:
                end = text.index(character, end) + 1
        yield start, end


def _cuts(method: Method | WordSplitter) -> Callable[[str], int]:
    """Returns a function that finds the part of a text whose tokens are final.

    The function takes a text, and returns the number of characters in this part, which begins at
    the start of the text.
    """
    if method in ("characters", "all_characters", "words"):
        return len  # `append` holds back the last word, which may continue
    if method == "treebank":
        return _start_of_last_complete_word
    ends_token = str.isspace if method == "spaces" else _bert_ends(method)

    def after_the_last(text: str) -> int:
        cut = len(text)
        while cut and not ends_token(text[cut - 1]):
            cut -= 1
        return cut

    return after_the_last


def _start_of_last_complete_word(text: str) -> int:
    end = len(text)
    while end and not text[end - 1].isspace():  # skips the last word, which may continue
        end -= 1
    start = len(text[:end].rstrip())
    while start and not text[start - 1].isspace():
        start -= 1
    return start


def _bert_ends(tokenizer: WordSplitter) -> Callable[[str], bool]:
    """Returns a function from a character to whether a new word always starts after it."""
    first, last = _IDEOGRAPHS
    are_tokens = tokenize([f"x{first}x"], tokenizer) == [["x", first, "x"]]
    return lambda c: c in _BERT_WHITE_SPACE or (are_tokens and first <= c <= last)
