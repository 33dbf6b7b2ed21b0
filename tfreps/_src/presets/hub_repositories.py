"""Repositories on the Hugging Face Hub: addresses, downloads and uploads."""

import contextlib
import glob
import os
import pathlib
import re
from typing import NamedTuple

import huggingface_hub
from huggingface_hub.errors import (
    GatedRepoError,
    HFValidationError,
    LocalTokenNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import validate_repo_id

from tfreps._src.presets.connection_errors import HUB, LOGIN, naming_source
from tfreps._src.presets.module_folders import MODULES, module_folders

SCHEME = "hf://"
ELSEWHERE = "Download the files by other means and pass their folder instead."
FORM = "hf://owner/repository[@revision][/folder]"
# The files of a model that tfreps reads. Nothing else is downloaded, such as code. Names have no
# `*`, which would also match a name with `../` in it.
_DIGITS = "[0-9]" * 5
ADAPTER = "adapter_config.json"
FILES = (
    "options.json",
    "weights.hdf5",
    "config.json",
    "bert_config.json",
    "model.safetensors",
    "model.safetensors.index.json",
    f"model-{_DIGITS}-of-{_DIGITS}.safetensors",
    "vocab.txt",
    "tokenizer_config.json",
    "tokenizer.json",
    "special_tokens_map.json",
    "added_tokens.json",
    ADAPTER,
    MODULES,
    "sentence_bert_config.json",
    "sentence_distilbert_config.json",
    "config_sentence_transformers.json",
    "model.keras",
    "tfreps_tokenizer.json",
    "vocabulary.txt",
    "word_characters.json",
    "tags.txt",
    "labels.txt",
    "manifest.json",
    "results.json",
    "encoder.pkl",
    "token_embedder.pkl",
    "char.dic",
    "word.dic",
    "cnn_50_100_512_4096_sample.json",
    "configs/cnn_50_100_512_4096_sample.json",
)
# Files with weights that are downloaded only if a folder has no other file with weights.
TORCH_FILES = (
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
    f"pytorch_model-{_DIGITS}-of-{_DIGITS}.bin",
)
WEIGHTS = ".hdf5", ".safetensors", ".pkl", ".keras", ".bin"
WITH_WEIGHTS = "Transformer", "Dense"  # modules of sentence-transformers that have weights


class Repository(NamedTuple):
    """Name, revision and folder of a model on the Hub.

    Without a revision, the default branch is used; the folder `""` is the whole repository.
    """

    name: str
    revision: str | None = None
    folder: str = ""


def parse(address: str) -> Repository:
    """Returns the `Repository` for an address `hf://owner/repository[@revision][/folder]`.

    Raises a ValueError for an address of another form.
    """
    form = r"hf://([^/@\s]+/[^/@\s]+)(?:@(refs/(?:pr|convert)/[^/]+|[^/\s]+))?(?:/(.*))?"
    match = re.fullmatch(form, address)
    folder = (match[3] or "").strip("/") if match else ""
    if match is None or {"", ".", ".."} & set(folder.split("/")) and folder:
        raise ValueError(f"The address of a model on the Hub must have the form {FORM}; got "
                         f"{address}.")  # fmt: skip
    try:
        validate_repo_id(match[1])
    except HFValidationError as error:
        reason = " ".join(str(error).split())
        raise ValueError(
            f"{address} does not name a repository: {reason} The address must have the form {FORM}."
        ) from error
    return Repository(match[1], match[2], folder)


def download_repository(address: str) -> pathlib.Path:
    """Downloads the files of a model and returns their folder, which must not be changed.

    `huggingface_hub` downloads the files: its environment variables (`HF_HOME`, `HF_ENDPOINT`,
    `HF_TOKEN`, `HF_HUB_OFFLINE`) and its progress bars apply, interrupted downloads are resumed,
    and files that are in its cache are not downloaded again. Only the files that tfreps reads
    (`FILES`) are downloaded. A sentence-transformers model has a folder for each of its modules;
    the files in these folders are downloaded, too. `pytorch_model.bin` is downloaded only for a
    folder without other weights. Raises a ValueError if the download fails or finds no weights.
    """
    found = parse(address)
    with _naming(address, found, "downloaded", ELSEWHERE):
        folder, commit = _snapshot(found, FILES)
        found = found._replace(revision=commit)  # all further downloads use the same commit
        modules = _modules(folder)
        if set(modules) - {""}:
            _snapshot(found, FILES, *(place for place in modules if place))
        places = [place for place, kind in modules.items() if kind in WITH_WEIGHTS] or [""]
        if bare := [place for place in places if not _has_weights(folder / place)]:
            _snapshot(found, TORCH_FILES, *bare)
    if not any(_has_weights(folder / place) for place in places):
        raise ValueError(
            f"{address} contains no model that tfreps reads: it has neither weights.hdf5 nor a "
            "safetensors file nor pytorch_model.bin nor the files of ELMoForManyLangs. The .h5 "
            "files of TensorFlow models are never downloaded. Use a repository with safetensors, "
            "or convert the .h5 file with transformers."
        )
    return folder


def _snapshot(found: Repository, names: tuple[str, ...], *inner: str) -> tuple[pathlib.Path, str]:
    """Downloads those files of a model whose names are in `names`.

    The files are searched for in the folder of the model or, if `inner` is given, only in the
    subfolders `inner` of this folder. Returns the path of the model's folder in the cache, and the
    commit of the downloaded files.
    """
    prefixes = [glob.escape(f"{found.folder}/{place}".strip("/")) for place in inner or [""]]
    snapshot = pathlib.Path(
        huggingface_hub.snapshot_download(
            found.name,
            revision=found.revision,
            allow_patterns=[
                f"{prefix}/{name}".lstrip("/") for prefix in prefixes for name in names
            ],
            library_name="tfreps",
        )
    )
    return snapshot / found.folder, snapshot.name


def _modules(folder: pathlib.Path) -> dict[str, str]:
    file = folder / MODULES
    return module_folders(file.read_bytes()) if file.is_file() else {}


def _has_weights(folder: pathlib.Path) -> bool:
    """Returns True if a folder contains weights or an adapter.

    An adapter counts although tfreps cannot read it, because opening the folder raises an error
    that says what to do.
    """
    return any(file.suffix in WEIGHTS or file.name == ADAPTER for file in folder.glob("*"))


def upload_folder(
    folder: str | os.PathLike[str],
    address: str,
    message: str = "Upload with tfreps",
    private: bool | None = None,
) -> str:
    """Uploads a folder to a repository, which is created if needed, and returns the commit's URL.

    The revision of the address must be a branch that exists. If `private` is `None`, the owner's
    default setting applies to a new repository.
    """
    found = parse(address)
    with _naming(address, found, "uploaded", "Check the connection, and try again."):
        api = huggingface_hub.HfApi(library_name="tfreps")
        api.create_repo(found.name, private=private, exist_ok=True)
        commit = api.upload_folder(
            repo_id=found.name,
            folder_path=os.fspath(folder),
            path_in_repo=found.folder or None,
            revision=found.revision,
            commit_message=message,
        )
    return str(commit.commit_url)


def _naming(
    address: str, found: Repository, done: str, hint: str
) -> contextlib.AbstractContextManager[None]:
    """Returns a context manager that converts errors of `huggingface_hub` to short ValueErrors.

    `done` is `"downloaded"` or `"uploaded"`, and `hint` is advice at the end of the messages.
    """
    revision = f"has no revision {found.revision or 'main'!r}."
    sentences = {
        GatedRepoError: f"is gated: accept its conditions on its page. {LOGIN}",
        RepositoryNotFoundError: f"does not exist, or it is private. Check the name. {LOGIN}",
        RevisionNotFoundError: f"{revision} Use a branch, a tag or a commit of the repository.",
        LocalTokenNotFoundError: f"needs a token. {LOGIN}",
    }
    return naming_source(address, done, hint, HUB, sentences)
