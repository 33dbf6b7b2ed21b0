"""Loads biLMs with their vocabularies, and continues their pre-training."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tfreps._src.convert.bilm_files import HDF5
from tfreps._src.convert.bilm_tf import read_weights
from tfreps._src.convert.bilm_tf_checkpoint import Restored, weights_of
from tfreps._src.models.bilm import BiLM
from tfreps._src.models.bilm_pretrainer import BiLMPretrainer
from tfreps._src.models.copy_weights import copy_weights
from tfreps._src.models.elmo import Elmo
from tfreps._src.models.many_langs import ManyLangsBiLM
from tfreps._src.optimizers.optimizer_variables import build_optimizer
from tfreps._src.optimizers.tf1_adagrad import TF1Adagrad
from tfreps._src.runs.bilm_parts import (
    boundary_options,
    check_size,
    continue_training_folder,
    run_vocabulary,
    set_vocabulary,
)
from tfreps._src.runs.kinds import RUN, TRAINING_FOLDER, kinds_of, locate
from tfreps._src.text.vocabulary import Vocabulary


def continue_pretraining(
    source: str | os.PathLike[str],
    vocabulary: Vocabulary,
    options_file: str | os.PathLike[str] | None = None,
    bilm_options: Mapping[str, Any] | None = None,
    **pretrainer_options: Any,
) -> Restored:
    """Builds a pretrainer for the tokens of `vocabulary` with the weights of an earlier model.

    Args:
        source: The path, name or address of one of the following:

            - HDF5 weights of bilm-tf or AllenNLP, their options.json, or the folder with both. The
              softmax is newly initialized.
            - A training folder of bilm-tf. The softmax and Adagrad's accumulators are restored.
            - A run folder of tfreps. The softmax is restored if the model is a `BiLMPretrainer` and
              the vocabulary is the same.

        vocabulary: The vocabulary of the new model. It may differ from the vocabulary of the source
            only if the model reads characters and the source is a run folder or HDF5 weights.
        options_file: Path of the options.json that belongs to HDF5 weights. If `None` (the
            default), it is expected in the folder of the weights.
        bilm_options: Options of `BiLM` that replace the options of the source. With HDF5 weights,
            `dropout` defaults to 0.1.
        **pretrainer_options: Options of `BiLMPretrainer`, except `tie_embeddings`, which depends on
            the source.

    Returns:
        Named tuple of the pretrainer, and a dict from paths of weights to Adagrad's accumulators.
        The dict is empty if the source has no accumulators.
    """
    changes = dict(bilm_options or {})
    with locate(source, RUN, *kinds_of(BiLM)) as found:
        if found.kind is TRAINING_FOLDER:
            return continue_training_folder(found.path, vocabulary, changes, **pretrainer_options)
        if found.kind is RUN:
            run = found.open()
            old = run.load_model()
            is_bilm = isinstance(old, BiLM | BiLMPretrainer | Elmo)
            if not is_bilm or old.find(ManyLangsBiLM) is not None:
                raise ValueError(
                    f"{run.path} contains a {type(old).__name__}; expected a biLM saved by `tfreps "
                    "pretrain-elmo`. Choose another run folder."
                )
            own = run_vocabulary(run, old)
        else:
            if options_file is not None and found.path.suffix in HDF5:
                old = read_weights(options_file, found.path)
            else:
                old = found.read(BiLM)
            own, changes = None, {"dropout": 0.1, **changes}
        model = _from_bilm(old, own, found.path, vocabulary, changes, pretrainer_options)
    set_vocabulary(model, vocabulary)
    return Restored(model, {})


def restore_accumulators(model: BiLMPretrainer, accumulators: Mapping[str, np.ndarray]) -> None:
    """Assigns accumulators to a compiled model's optimizer if the optimizer is a `TF1Adagrad`.

    `accumulators` maps the paths of weights to arrays.
    """
    # In float16, `LossScaleOptimizer` contains the optimizer.
    optimizer = getattr(model.optimizer, "inner_optimizer", model.optimizer)
    if accumulators and isinstance(optimizer, TF1Adagrad):
        build_optimizer(model)
        named = zip(model.trainable_variables, optimizer._accumulators, strict=True)
        paths = {id(w): path for path, w in weights_of(model).items()}
        for weight, accumulator in named:
            accumulator.assign(accumulators[paths[id(weight)]])


def _from_bilm(
    old: BiLM | BiLMPretrainer | Elmo,
    own: Vocabulary | None,
    source: Path,
    vocabulary: Vocabulary,
    changes: Mapping[str, Any],
    pretrainer_options: Mapping[str, Any],
) -> BiLMPretrainer:
    """Returns a new pretrainer for `vocabulary` with the weights of `old`.

    `own` is the vocabulary of `old`, or `None` if it is not known.
    """
    theirs: BiLM = old if isinstance(old, BiLM) else old.bilm
    is_same = own is not None and own.tokens == vocabulary.tokens
    if theirs.vocabulary_size is not None:
        check_size(source, theirs.vocabulary_size, vocabulary)
        if own is not None and not is_same:
            raise ValueError(
                f"{source} reads token ids of its own vocabulary, and {vocabulary.source} is a "
                "different vocabulary. Use the vocabulary of the earlier run, or train a new model."
            )
        changes = {**changes, **boundary_options(vocabulary)}
    config = {**theirs.get_config(), "initial_state": "zero", **changes}
    bilm = BiLM.from_config({**config, "trainable": True, "frozen": []})
    keeps_softmax = is_same and isinstance(old, BiLMPretrainer)
    tied = keeps_softmax and old.tie_embeddings
    model = BiLMPretrainer(bilm, len(vocabulary), tie_embeddings=tied, **pretrainer_options)
    copy_weights(bilm, theirs, ["token_encoder", "bilstm"])
    if keeps_softmax:  # the number of drawn samples is not copied and restarts at 0
        model.softmax.bias.assign(old.softmax.bias)
        if not tied:
            model.softmax.kernel.assign(old.softmax.kernel)
    return model
