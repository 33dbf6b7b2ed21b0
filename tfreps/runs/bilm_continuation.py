"""Continues biLM pre-training from run folders, checkpoints or published weights."""

import os
from pathlib import Path

from tfreps.convert import bilm_tf_checkpoint
from tfreps.convert.bilm_files import find_files, is_published
from tfreps.convert.bilm_tf_checkpoint import Restored
from tfreps.models import BiLM, BiLMPretrainer
from tfreps.models.copy_weights import copy_weights
from tfreps.optimizers import TF1Adagrad, build_optimizer
from tfreps.runs.bilm_runs import PretrainedBiLM, load_bilm, load_published_bilm
from tfreps.runs.run_folder import CONFIG, MODEL
from tfreps.text import Vocabulary


def continue_pretraining(
    source: str | os.PathLike,
    vocabulary: Vocabulary,
    options_file: str | os.PathLike | None = None,
    bilm_options: dict | None = None,
    **pretrainer_options,
) -> Restored:
    """Builds a pretrainer for the tokens of `vocabulary` with the weights of an earlier model.

    Args:
        source: str or path-like. One of the following: HDF5 weights of bilm-tf or AllenNLP, their
            options.json, or the folder with both (the softmax is newly initialized); a bilm-tf
            training folder (the softmax and Adagrad's accumulators are restored); or a run folder
            of tfreps (the softmax is restored if the model is a `BiLMPretrainer` and the vocabulary
            is the same).
        vocabulary: `tfreps.text.Vocabulary`. The tokens to predict. It may differ from the
            source's vocabulary only if the model reads characters and `source` is a run folder or
            HDF5 weights.
        options_file: str or path-like. `options.json` of the HDF5 weights, used only if `source` is
            the file of the weights. If `None`, the one next to the weights is used. Defaults to
            `None`.
        bilm_options: dict. Options of `BiLM` that replace those of the source, such as `dropout`
            or `dtype`. With HDF5 weights, `dropout` defaults to 0.1. Defaults to `None`.
        **pretrainer_options: Options of `BiLMPretrainer`, except `tied`, which depends on `source`.

    Returns:
        `Restored`, a tuple `(model, accumulators)`. `model` is a `BiLMPretrainer`, whose character
        table is set if it reads characters. `accumulators` is a dict from paths of weights to
        Adagrad's accumulators, for `restore_accumulators`; it is empty unless `source` is a bilm-tf
        training folder.

    Raises:
        ValueError: If the source does not exist or cannot be read, or if `vocabulary` differs from
            the source's vocabulary where that is not allowed. Only the sizes are compared, unless
            `source` is a run folder that contains its vocabulary.
    """
    source = Path(source)
    changes = dict(bilm_options or {})
    if not source.exists():
        raise ValueError(
            f"Cannot continue training: {source} does not exist. Give HDF5 weights, a bilm-tf "
            "training folder or a run folder of tfreps."
        )
    if source.suffix == ".json" or is_published(source):
        options_file, source = find_files(source)
    elif source.is_dir() and not any((source / name).exists() for name in (MODEL, CONFIG)):
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
    """Continues from a bilm-tf training folder, as `continue_pretraining` describes."""
    changes = {**boundary_options(vocabulary), **(bilm_options or {})}
    restored = bilm_tf_checkpoint.read(folder, changes, **pretrainer_options)
    _check_size(folder, restored.model.vocabulary_size, vocabulary)
    set_vocabulary(restored.model, vocabulary)
    return restored


def restore_accumulators(model: BiLMPretrainer, accumulators: dict) -> None:
    """Assigns accumulators to a compiled model's optimizer if the optimizer is a `TF1Adagrad`."""
    optimizer = getattr(model.optimizer, "inner_optimizer", model.optimizer)  # wrapped in float16
    if accumulators and isinstance(optimizer, TF1Adagrad):
        build_optimizer(model)
        named = zip(model.trainable_variables, optimizer.accumulators, strict=True)
        paths = {id(w): path for path, w in bilm_tf_checkpoint.weights_of(model).items()}
        for weight, accumulator in named:
            accumulator.assign(accumulators[paths[id(weight)]])


def set_vocabulary(model: BiLMPretrainer, vocabulary: Vocabulary) -> None:
    """Sets the character table of a model that reads characters; does nothing for others."""
    if model.character_table is not None:
        model.set_character_table(vocabulary.character_table(model.bilm.max_characters))


def word_options(vocabulary: Vocabulary) -> dict:
    """Returns the options of a `BiLM` that reads the token ids of `vocabulary`."""
    return {"vocabulary_size": len(vocabulary), **boundary_options(vocabulary)}


def boundary_options(vocabulary: Vocabulary) -> dict:
    """Returns the ids of the boundary tokens for a `BiLM` that reads token ids (0 is padding)."""
    return {
        "sentence_start_id": vocabulary.start_id + 1,
        "sentence_end_id": vocabulary.end_id + 1,
    }


def _from_bilm(source, vocabulary, options_file, changes, pretrainer_options) -> BiLMPretrainer:
    if source.is_dir():
        found = load_bilm(source)
    else:
        bilm = load_published_bilm(options_file or source.with_name("options.json"), source)
        found = PretrainedBiLM(bilm, bilm, None)
        changes = {"dropout": 0.1, **changes}
    is_same = found.vocabulary is not None and found.vocabulary.tokens == vocabulary.tokens
    if found.bilm.vocabulary_size is not None:
        _check_size(source, found.bilm.vocabulary_size, vocabulary)
        if found.vocabulary is not None and not is_same:
            raise ValueError(
                f"{source} reads token ids of its own vocabulary, and {vocabulary.source} is a "
                "different vocabulary. Use the vocabulary of the earlier run, or train a new model."
            )
        changes = {**changes, **boundary_options(vocabulary)}
    bilm = BiLM.from_config({**found.bilm.get_config(), **changes, "trainable": True, "frozen": []})
    keeps_softmax = is_same and isinstance(found.model, BiLMPretrainer)
    tied = keeps_softmax and found.model.tied
    model = BiLMPretrainer(bilm, len(vocabulary), tied=tied, **pretrainer_options)
    copy_weights(bilm, found.bilm, ["token_encoder", "bilstm"])
    if keeps_softmax:  # everything except the number of draws, which restarts at 0
        model.softmax.bias.assign(found.model.softmax.bias)
        if not tied:
            model.softmax.kernel.assign(found.model.softmax.kernel)
    return model


def _check_size(source, size: int, vocabulary: Vocabulary) -> None:
    if size != len(vocabulary):
        raise ValueError(
            f"{source} was trained with a vocabulary of {size} tokens, but {vocabulary.source} has "
            f"{len(vocabulary)} tokens. Use the vocabulary that the model was trained with."
        )
