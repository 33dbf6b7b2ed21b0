"""JsonTokenizer: applies any tokenizer.json of Hugging Face in Python."""

import itertools
import json
import operator
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tfreps._src.text.bert.hugging_face_files import (
    SPECIALS,
    added_names,
    difference,
    in_order,
    model_pieces,
    pair_of,
)
from tfreps._src.text.bert.library_tokenizer import LibraryTokenizer
from tfreps._src.text.bert.piece_tokenizer import NONE, PieceGraph
from tfreps._src.text.code_ranges import Ranges

if TYPE_CHECKING:
    import tokenizers


_WORD = re.compile(r"\S+")


class JsonTokenizer(LibraryTokenizer):
    """Tokenizer that a tokenizer.json of Hugging Face describes, for models used in Python.

    The package `tokenizers` applies the normalizer, the pre-tokenizer, the model and the added
    tokens of the file. `checkpoint_tokenizer` returns a tokenizer of this class if the file does
    not describe a `WordPieceTokenizer`. As in all tokenizers of tfreps, special tokens in a text,
    such as `[MASK]`, are ordinary text. The graph calls Python, so that it cannot be exported.
    Raw texts for a tagger are split into the words of the pre-tokenizer.

    Args:
        definition: dict. The content of a tokenizer.json. Its parts "padding", "truncation" and
            "decoder" have no effect.
        special_tokens: sequence of five str. The padding, unknown, start, separator and mask
            tokens. Defaults to those of BERT.
        max_length: int or None. Maximum number of ids per text that models use, special tokens
            included. The tokenizer itself does not apply it. If `None`, the number is not limited.
            Defaults to `None`.
        source: str or path-like object. Name of the file in error messages. Defaults to
            `"tokenizer.json"`.

    Attributes:
        vocabulary: list of str. The pieces, added tokens included, in the order of their ids.
        padding_id, unknown_id, start_id, separator_id, mask_id: int. Ids of the special tokens.
        special_ids: list of int. Ids of special tokens, and of unused pieces such as `[unused1]`.

    Raises:
        ValueError: If `tokenizers` cannot read the definition, the ids are not the integers from 0
            onwards, a special token is missing, or the post-processor does not enclose a text in
            the start and separator tokens.

    Example:
        >>> from tfreps.text import JsonTokenizer
        >>> pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a-b"]
        >>> ids = {piece: number for number, piece in enumerate(pieces)}
        >>> ends = {"type": "BertProcessing", "cls": ["[CLS]", 2], "sep": ["[SEP]", 3]}
        >>> model = {"type": "WordLevel", "vocab": ids, "unk_token": "[UNK]"}
        >>> splits = {"type": "WhitespaceSplit"}
        >>> tokenizer = JsonTokenizer(
        ...     {"model": model, "pre_tokenizer": splits, "post_processor": ends}
        ... )
        >>> tokenizer.text_to_ids("a-b a")
        [5, 1]
    """

    OPTIONS: dict[str, tuple[type, ...]] = {"special_tokens": (list,), "max_length": (int, NONE)}
    CONTENT: dict[str, tuple[type, ...]] = {"definition": (dict,)}

    def __init__(
        self,
        definition: dict[str, Any],
        special_tokens: Sequence[str] = tuple(SPECIALS.values()),
        max_length: int | None = None,
        source: str | os.PathLike[str] = "tokenizer.json",
    ):
        self.definition: dict[str, Any] = definition
        self.special_tokens: list[str] = list(special_tokens)
        if len(self.special_tokens) != 5 or any(type(t) is not str for t in self.special_tokens):
            raise ValueError(
                "`special_tokens` must be the padding, unknown, start, separator and mask tokens; "
                f"got {special_tokens!r:.60}."
            )
        self.SPECIAL_TOKENS: tuple[str, ...] = tuple(self.special_tokens)
        self.source: str = str(source)
        vocabulary = in_order(self._library.get_vocab(), self.source)
        super().__init__(vocabulary, max_length, source)
        ends = self.special_tokens[2:4]
        pair = pair_of(definition.get("post_processor"), ends, self._ids, self.source)
        self.num_separators: int = pair[0]
        self.second_segment: int = pair[1]

    def lowercased(self) -> "JsonTokenizer":
        """Returns a copy of the tokenizer that lowercases texts before all other steps."""
        steps = [{"type": "Lowercase"}, self.definition.get("normalizer")]
        normalizer = {"type": "Sequence", "normalizers": [step for step in steps if step]}
        definition = {**self.definition, "normalizer": normalizer}
        return JsonTokenizer(definition, self.special_tokens, self.max_length, self.source)

    def _make_library(self) -> "tokenizers.Tokenizer":
        from tokenizers import Tokenizer

        unused = dict.fromkeys(("padding", "truncation", "decoder", "post_processor"))
        found = {"version": "1.0", "normalizer": None, **self.definition, **unused}
        own = list(model_pieces(found).intersection(self.SPECIAL_TOKENS))
        added = added_names(found, self.source)
        found["added_tokens"] = [token for token, name in added if name not in own]
        try:
            return Tokenizer.from_str(json.dumps(found))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic of the package is not an `Exception`
            raise ValueError(
                f"{self.source} cannot be read by the package tokenizers: {error}. Use the "
                "original file."
            ) from None

    def word_offsets(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Returns the `(start, end)` of each word of a text to which a tagger assigns a tag.

        A word is a part of the text that the pre-tokenizer separates and that has pieces. White
        space inside such a part also separates words.
        """
        found = []
        for text in texts:
            text = re.sub("[\ud800-\udfff]", "\ufffd", text)  # UTF-8 cannot represent surrogates
            row, spans, last = self._library.encode(text, add_special_tokens=False), [], 0
            of_pieces = zip(row.word_ids, row.offsets, strict=True)
            for _, pieces in itertools.groupby(of_pieces, operator.itemgetter(0)):
                (start, end), *more = (offsets for _, offsets in pieces)
                end = more[-1][1] if more else end
                spans += [m.span() for m in _WORD.finditer(text, max(start, last), end)]
                last = end
            found.append(spans)
        return found

    @property
    def word_rules(self) -> list[tuple[str, str]]:
        return self.check_exportable() or []

    @property
    def dropped_characters(self) -> tuple[Ranges, Ranges]:
        return (), ()

    def check_exportable(self) -> None:
        reason = difference(self.definition, self.special_tokens, self.source)
        raise ValueError(
            f"{self.source} describes a tokenizer that cannot be exported, because TensorFlow has "
            f"no operations for it: {reason or 'it is not a WordPieceTokenizer'}. Use the model in "
            "Python, or export the Keras model, which takes ids, with `model.export(folder)`."
        )

    def _python_steps(self) -> dict[str, Any]:
        return self.check_exportable() or {}

    def make_graph(self, core_ops: bool) -> PieceGraph:
        # Imported here, because it imports TensorFlow.
        from tfreps._src.text.bert.python_graph import PythonGraph

        return PythonGraph(self)
