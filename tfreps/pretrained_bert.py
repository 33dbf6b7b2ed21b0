"""load_pretrainer: a BertPretrainer and its tokeniser, from a run folder or a checkpoint."""

import os
import pathlib
from typing import Any, NamedTuple


class PretrainedBert(NamedTuple):
    """What `load_pretrainer` found: a `BertPretrainer` and a `tfreps.text` tokeniser."""

    model: Any
    tokenizer: Any


def load_pretrainer(
    source: str | os.PathLike, next_sentence: bool | None = None, **changes
) -> PretrainedBert:
    """Loads a pre-trained BERT with its heads, to train it on.

    Args:
        source: a run folder of `tfreps pretrain-bert`; or a folder of Google or Hugging Face with
            its vocabulary, as `BertPretrainer.from_pretrained` reads it.
        next_sentence: whether there is the second task; None if the source has it.
        **changes: options of the `BertEncoder` in place of the source's that change no weight,
            such as `dropout`; of a checkpoint, also what its method allows.

    Raises:
        ValueError: no such folder, a run of another program or without a model, next sentences
            that the source cannot tell, a vocabulary that is not the model's; and what
            `from_pretrained` raises.
    """
    from tfreps.models import BertPretrainer
    from tfreps.text.bert_tokens import checkpoint_tokenizer, read_tokenizer

    path = pathlib.Path(source)
    if not path.exists():
        raise ValueError(f"There is nothing to go on from: {path} does not exist.")
    if (path / "options.json").is_file():
        from tfreps.run_folder import RunFolder

        run = RunFolder.open(path, "pretrain-bert")
        model = _continued(run.load_model(), path, next_sentence, changes)
        tokenizer = read_tokenizer(run.tokenizer_path)
    else:
        model = BertPretrainer.from_pretrained(path, next_sentence=next_sentence, **changes)
        tokenizer = checkpoint_tokenizer(path if path.is_dir() else path.parent)
    check_size(model.encoder, tokenizer, path)
    if not model.next_sentence and model.encoder.pooler_dense is not None:
        model.encoder.pooler_dense.trainable = False  # nothing reads it
    return PretrainedBert(model, tokenizer)


def check_size(encoder, tokenizer, source) -> None:
    """Raises a ValueError if the token table has no row for some of the tokens."""
    size = len(tokenizer.vocabulary)
    if size > encoder.vocabulary_size or encoder.padding_id != tokenizer.padding_id:
        raise ValueError(
            f"{source} has {encoder.vocabulary_size:,} tokens, padding being "
            f"{encoder.padding_id}; the vocabulary {tokenizer.source} has {size:,}, padding being "
            f"{tokenizer.padding_id}: that is another model's."
        )


def _continued(old, path, next_sentence, changes):
    """A new pretrainer with the weights of an old one, all of them trainable."""
    from tfreps.models import BertEncoder, BertPretrainer

    if not isinstance(old, BertPretrainer):
        raise ValueError(f"{path} holds a {type(old).__name__}; expected a BertPretrainer.")
    if next_sentence and not old.next_sentence:
        raise ValueError(
            f"{path} was trained without next sentences, and has no head for them: go on without "
            "them, or begin a new run."
        )
    config = {**old.encoder.get_config(), **changes, "trainable": True}
    has_head = old.next_sentence and next_sentence in (None, True)
    model = BertPretrainer(BertEncoder.from_config(config), has_head)
    pairs = [(model.encoder, old.encoder), (model.transform, old.transform)]
    pairs += [(model.transform_norm, old.transform_norm)]
    if has_head:
        pairs.append((model.next_sentence_dense, old.next_sentence_dense))
    model.token_bias.assign(old.token_bias)
    for ours, theirs in pairs:
        for weight, value in zip(ours.weights, theirs.weights, strict=True):
            weight.assign(value)
    return model
