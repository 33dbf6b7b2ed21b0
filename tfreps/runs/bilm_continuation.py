"""Training that goes on from earlier weights: of a run folder, of bilm-tf, or published ones."""

import os
from pathlib import Path

from tfreps.convert import bilm_tf_checkpoint
from tfreps.convert.bilm_tf_checkpoint import Restored
from tfreps.models import BiLM, BiLMPretrainer
from tfreps.optimizers import TF1Adagrad, build_optimizer
from tfreps.runs.bilm_runs import load_bilm
from tfreps.text import Vocabulary


def continue_pretraining(
    source: str | os.PathLike,
    vocabulary: Vocabulary,
    options_file: str | os.PathLike | None = None,
    bilm_options: dict | None = None,
    **pretrainer_options,
) -> Restored:
    """A pretrainer with earlier weights, for the tokens of `vocabulary`.

    Args:
        source: HDF5 weights of bilm-tf or AllenNLP (the softmax is new); a training folder of
            bilm-tf (softmax and Adagrad's accumulators go on); or a run folder of tfreps (the
            softmax goes on if the vocabulary is the same).
        vocabulary: what is to be predicted. Only a run folder of characters and HDF5 weights of
            characters may have had another.
        options_file: `options.json` of the HDF5 weights; by default that beside them.
        bilm_options: options of `BiLM` to set, such as `dropout` (0.1 with HDF5 weights, else
            that of the source) or `dtype`.
        **pretrainer_options: options of `BiLMPretrainer`.

    Returns:
        The model, its character table set; and accumulators by path, for `restore_accumulators`.

    Raises:
        ValueError: for sources that cannot be read, or that belong to another vocabulary.
    """
    source, changes = Path(source), dict(bilm_options or {})
    if not source.exists():
        raise ValueError(f"There is nothing to go on from: {source} does not exist.")
    if source.is_dir() and not (source / "model.keras").exists():
        return continue_checkpoint(source, vocabulary, changes, **pretrainer_options)
    model = _from_bilm(source, vocabulary, options_file, changes, pretrainer_options)
    set_vocabulary(model, vocabulary)
    return Restored(model, {})


def continue_checkpoint(
    folder: str | os.PathLike,
    vocabulary: Vocabulary,
    bilm_options: dict | None = None,
    **pretrainer_options,
) -> Restored:
    """The same from a training folder of bilm-tf alone; see `continue_pretraining`."""
    changes = {**boundary_options(vocabulary), **(bilm_options or {})}
    restored = bilm_tf_checkpoint.read(folder, changes, **pretrainer_options)
    _check_size(folder, restored.model.vocabulary_size, vocabulary)
    set_vocabulary(restored.model, vocabulary)
    return restored


def restore_accumulators(model: BiLMPretrainer, accumulators: dict) -> None:
    """Hands accumulators by path to the optimiser of a compiled model, if it is `TF1Adagrad`."""
    optimizer = getattr(model.optimizer, "inner_optimizer", model.optimizer)  # float16 wraps it
    if accumulators and isinstance(optimizer, TF1Adagrad):
        build_optimizer(model)
        named = zip(model.trainable_variables, optimizer.accumulators, strict=True)
        paths = {id(w): path for path, w in bilm_tf_checkpoint.weights_of(model).items()}
        for weight, accumulator in named:
            accumulator.assign(accumulators[paths[id(weight)]])


def set_vocabulary(model: BiLMPretrainer, vocabulary: Vocabulary) -> None:
    """Sets the table of characters, if the model reads characters."""
    if model.character_table is not None:
        model.set_character_table(vocabulary.character_table(model.bilm.max_characters))


def word_options(vocabulary: Vocabulary) -> dict:
    """Options of a `BiLM` that reads token ids of this vocabulary."""
    return {"vocabulary_size": len(vocabulary), **boundary_options(vocabulary)}


def boundary_options(vocabulary: Vocabulary) -> dict:
    """The ids that such a `BiLM` puts around sentences; 0 is padding there."""
    return {
        "sentence_start_id": vocabulary.start_id + 1,
        "sentence_end_id": vocabulary.end_id + 1,
    }


def _from_bilm(source, vocabulary, options_file, changes, pretrainer_options) -> BiLMPretrainer:
    if source.is_dir():
        found = load_bilm(source)
    else:
        found = load_bilm(None, options_file or source.with_name("options.json"), source)
        changes = {"dropout": 0.1, **changes}
    is_same = found.vocabulary is not None and found.vocabulary.tokens == vocabulary.tokens
    if found.bilm.vocabulary_size is not None:
        _check_size(source, found.bilm.vocabulary_size, vocabulary)
        if found.vocabulary is not None and not is_same:
            raise ValueError(
                f"{source} reads token ids of its own vocabulary, and {vocabulary.source} is "
                "another: leave --vocabulary out, or begin a new run."
            )
        changes = {**changes, **boundary_options(vocabulary)}
    bilm = BiLM.from_config({**found.bilm.get_config(), **changes, "trainable": True, "frozen": []})
    keeps_softmax = is_same and isinstance(found.model, BiLMPretrainer)
    tied = keeps_softmax and found.model.tied
    model = BiLMPretrainer(bilm, len(vocabulary), tied=tied, **pretrainer_options)
    pairs = [(bilm, found.bilm)]
    if keeps_softmax:
        pairs.append((model.softmax, found.model.softmax))
    for ours, theirs in pairs:
        theirs.trainable = True  # it may have been frozen
        for weight, value in zip(ours.trainable_weights, theirs.trainable_weights, strict=True):
            weight.assign(value)
    return model


def _check_size(source, size: int, vocabulary: Vocabulary) -> None:
    if size != len(vocabulary):
        raise ValueError(
            f"{source} was trained with {size} tokens, and the vocabulary {vocabulary.source} has "
            f"{len(vocabulary)}: give the one of that run."
        )
