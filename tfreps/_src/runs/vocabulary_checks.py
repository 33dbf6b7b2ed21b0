"""Checks that a vocabulary, tokenizer, tag or label file belongs to a model."""

import os
import pathlib
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from tfreps._src.models.any_bilm import AnyBiLM
from tfreps._src.models.bert import BertEncoder
from tfreps._src.models.bilm_pretrainer import BiLMPretrainer
from tfreps._src.models.elmo import Elmo
from tfreps._src.models.many_langs import ManyLangsBiLM
from tfreps._src.models.whole_model import WholeModel
from tfreps._src.text.bert.piece_tokenizer import PieceTokenizer
from tfreps._src.text.tags.tag_set import TagSet, Word
from tfreps._src.text.vocabulary import Vocabulary
from tfreps._src.text.word_char_ids import WordCharIndexer

MOST_SPARE = 1024  # maximum number of unused rows of a token table
REMEDY = (
    "so the vocabulary belongs to another model. Use the vocabulary that the model was trained "
    "with."
)


def check_vocabulary(
    model: AnyBiLM | BiLMPretrainer | Elmo,
    vocabulary: Vocabulary | None,
    source: str | os.PathLike[str] = "The model",
) -> None:
    """Raises a ValueError if a vocabulary cannot be the vocabulary of a biLM.

    A biLM stores the size of its vocabulary and the ids of `<S>` and `</S>`. The character table of
    a `BiLMPretrainer` also stores the spelling of each token. If `vocabulary` is `None`, nothing is
    checked.
    """
    if vocabulary is None:
        return
    bilm: Any = model if isinstance(model, AnyBiLM) else model.bilm
    pretrainer, theirs = model.find(BiLMPretrainer), vocabulary.source
    for part in (bilm, pretrainer):
        size = None if part is None else part.vocabulary_size
        if size not in (None, len(vocabulary)):
            raise ValueError(
                f"{source} has {size} tokens, but {theirs} has {len(vocabulary)} tokens, {REMEDY}"
            )
    lines = vocabulary.start_id + 1, vocabulary.end_id + 1
    expected = bilm.sentence_start_id, bilm.sentence_end_id
    if bilm.vocabulary_size is not None and lines != expected:
        raise ValueError(
            f"{source} has <S> and </S> on lines {expected[0]} and {expected[1]} of its "
            f"vocabulary, but {theirs} has them on lines {lines[0]} and {lines[1]}, {REMEDY}"
        )
    table = None if pretrainer is None else pretrainer.character_table
    if table is None or not np.any(table := table.numpy()):
        # There is no table, or the table has not been set.
        return
    other = (table != vocabulary.character_table(table.shape[1])).any(axis=1)
    if other.any():
        line = int(other.argmax()) + 1
        raise ValueError(
            f"{theirs} has {vocabulary.tokens[line - 1]!r} on line {line}, where {source} has a "
            f"different token, {REMEDY}"
        )


def check_word_characters(
    bilm: ManyLangsBiLM, indexer: WordCharIndexer, source: str | os.PathLike[str]
) -> None:
    """Raises a ValueError if a `WordCharIndexer` does not match the embedding tables of a biLM.

    `source` is the name of the file in the error message.
    """
    for name in "num_character_ids", "vocabulary_size", "max_characters":
        expected, found = getattr(bilm, name), getattr(indexer, name)
        if expected != found:
            raise ValueError(
                f"{source}: `{name}` must be {expected}, as in the model; got {found}. The "
                "file belongs to another model. Put the original file back."
            )


def check_pieces(
    encoder: BertEncoder, tokenizer: PieceTokenizer, source: str | os.PathLike[str]
) -> None:
    """Raises a ValueError if a tokenizer's vocabulary does not match an encoder's token table.

    Some table sizes were rounded up, so a vocabulary may have up to `MOST_SPARE` fewer tokens than
    the table has rows.
    """
    size = len(tokenizer.vocabulary)
    fits = 0 <= encoder.vocabulary_size - size <= MOST_SPARE
    if not fits or encoder.padding_id != tokenizer.padding_id:
        raise ValueError(
            f"{source} has {encoder.vocabulary_size:,} tokens and padding id {encoder.padding_id}, "
            f"but the vocabulary {tokenizer.source} has {size:,} tokens and padding id "
            f"{tokenizer.padding_id}, {REMEDY}"
        )


def check_class_names(path: pathlib.Path, names: Sequence[str], word: Word) -> None:
    """Raises a ValueError if a file of tags or labels differs from the tags or labels of a model.

    `names` are the tags or labels of the model, which the file must list in the same order. `word`
    is `"tag"` or `"label"`, for the error message. A file that does not exist is accepted.
    """
    own = list(names)
    found = TagSet.read(path, word=word).names if path.exists() else own
    if found != own:
        line = next(i for i, pair in enumerate(zip_longest(found, own), 1) if pair[0] != pair[1])
        raise ValueError(
            f"{path} must list the {word}s of the model in the same order: the model has "
            f"{len(own)} {word}s, the file has {len(found)} {word}s, and the two lists differ "
            f"from line {line} on. Put the original file back."
        )


def check_token_table(path: pathlib.Path, vocabulary: Vocabulary, model: WholeModel) -> None:
    """Raises a ValueError if a vocabulary and the token table of a model differ in their sizes."""
    size = model._num_tokens
    if size not in (None, len(vocabulary)):
        raise ValueError(
            f"{path} has {len(vocabulary)} tokens, but the model's table has {size}, so it is the "
            "vocabulary of another model. Put the original file back."
        )
