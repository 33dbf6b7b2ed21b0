"""Checks the files in the run folder of a tagger or classifier against its model."""

import pathlib
from collections.abc import Sequence
from itertools import zip_longest


def check_names(path: pathlib.Path, names: Sequence[str], word: str) -> None:
    """Checks that a tag or label file, if it exists, lists the tags or labels of the model.

    Args:
        path: `pathlib.Path`. Path of the file.
        names: sequence of str. Tags or labels of the model, in the order of their ids.
        word: str. Word for a name in error messages: `"tag"` or `"label"`.

    Raises:
        ValueError: If the file cannot be read, a name in it is invalid, or the file lists other
            names than the model or the same names in a different order.
    """
    from tfreps.text import TagSet

    own = list(names)
    found = TagSet.read(path, word=word).names if path.exists() else own
    if found != own:
        line = next(i for i, pair in enumerate(zip_longest(found, own), 1) if pair[0] != pair[1])
        raise ValueError(
            f"{path} does not list the model's {word}s: it has {len(found)} {word}s, the model has "
            f"{len(own)}, and they differ from line {line} on. Put the original file back."
        )


def check_table(path: pathlib.Path, vocabulary, model) -> None:
    """Checks that a vocabulary has as many tokens as the token table of a model.

    A model without a token table, such as one that reads characters, is not checked.

    Args:
        path: `pathlib.Path`. Path of the vocabulary file, for the error message.
        vocabulary: `tfreps.text.Vocabulary`. The vocabulary in the file.
        model: `Tagger`, `HMMTagger` or `Classifier`.

    Raises:
        ValueError: If the numbers differ.
    """
    size = model.num_tokens
    if size not in (None, len(vocabulary)):
        raise ValueError(
            f"{path} has {len(vocabulary)} tokens, but the model's table has {size}, so it is the "
            "vocabulary of another model. Put the original file back."
        )
