"""What a run folder of a tagger or classifier holds, checked against its model."""

import pathlib
from collections.abc import Sequence
from itertools import zip_longest


def check_names(path: pathlib.Path, names: Sequence[str], word: str) -> None:
    """Raises a ValueError if a file of tags or labels, where there is one, is not the model's list.

    Args:
        path: the file.
        names: of the model, in the order of their ids.
        word: how errors call a name: `"tag"` or `"label"`.
    """
    from tfreps.text import TagSet

    own = list(names)
    found = TagSet.read(path, word=word).names if path.exists() else own
    if found != own:
        line = next(i for i, pair in enumerate(zip_longest(found, own), 1) if pair[0] != pair[1])
        raise ValueError(
            f"{path} holds {len(found)} {word}s, the model {len(own)}, and they differ from line "
            f"{line} on: that is another model's list. Put the original file back."
        )


def check_table(path: pathlib.Path, vocabulary, model) -> None:
    """Raises a ValueError if a vocabulary has another size than the model's table of tokens.

    Args:
        path: the file of the vocabulary.
        vocabulary: `tfreps.text.Vocabulary`.
        model: `Tagger`, `HMMTagger` or `Classifier`.
    """
    size = model.num_tokens
    if size not in (None, len(vocabulary)):
        raise ValueError(
            f"{path} holds {len(vocabulary)} tokens, the model's table {size}: that is another "
            "model's vocabulary. Put the original file back."
        )
