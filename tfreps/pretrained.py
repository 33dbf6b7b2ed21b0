"""load_bilm: a trained BiLM from a run folder, or from published files."""

import os
from typing import Any, NamedTuple


class PretrainedBiLM(NamedTuple):
    """What `load_bilm` found.

    `model` is what the run folder holds (`BiLMPretrainer`, `Elmo` or `BiLM`), or the BiLM of
    published files; `bilm` is the `BiLM` in it, in the initial state asked for; `vocabulary` is
    the run's `tfreps.text.Vocabulary`, None for published files.
    """

    bilm: Any
    model: Any
    vocabulary: Any


def load_bilm(
    run: str | os.PathLike | None = None,
    options_file: str | os.PathLike | None = None,
    weights_file: str | os.PathLike | None = None,
    initial_state: str = "zero",
) -> PretrainedBiLM:
    """Loads a trained biLM from one of the two places where there can be one.

    Args:
        run: a run folder of tfreps; or None, and then
        options_file, weights_file: `options.json` and HDF5 weights of bilm-tf or AllenNLP.
        initial_state: what the biLM starts each batch from, as in `BiLM`.

    Returns:
        PretrainedBiLM.

    Raises:
        ValueError: neither or both places are given, a file is broken or foreign, or the run
            folder holds a model without a biLM.
    """
    files = options_file, weights_file
    if (run is None) != (None not in files) or (run is not None and any(files)):
        raise ValueError(
            "Expected either a run folder, or both --options FILE.json and --weights FILE.hdf5; "
            f"got run folder {run}, --options {options_file}, --weights {weights_file}."
        )
    if run is None:
        from tfreps.models import BiLM

        bilm = BiLM.from_bilm_tf(options_file, weights_file, initial_state=initial_state)
        return PretrainedBiLM(bilm, bilm, None)

    from tfreps.models import BiLM, BiLMPretrainer, Elmo
    from tfreps.run_folder import RunFolder

    folder = RunFolder.open(run)
    model = folder.load_model()
    if not isinstance(model, BiLM | BiLMPretrainer | Elmo):
        raise ValueError(f"{run} holds a {type(model).__name__}; expected a biLM.")
    bilm = model if isinstance(model, BiLM) else model.bilm
    if bilm.initial_state != initial_state:
        bilm = bilm.with_initial_state(initial_state)
    vocabulary = folder.vocabulary() if folder.vocabulary_path.exists() else None
    return PretrainedBiLM(bilm, model, vocabulary)
