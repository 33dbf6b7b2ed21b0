"""Repositories on the Hugging Face Hub: addresses, downloads and uploads."""

import contextlib
import os
import pathlib
import re
from collections.abc import Iterator
from typing import NamedTuple

import huggingface_hub
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    LocalTokenNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.utils import validate_repo_id

SCHEME = "hf://"
ELSEWHERE = "Download the files by other means and pass their folder instead."
FORM = "hf://owner/repository[@revision][/folder]"
# The files of a model that tfreps reads. Nothing else is downloaded: no pickles, no code. The
# names have no `*`, which would also match a name with `../` in it.
_DIGITS = "[0-9]" * 5
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
    "tfreps_tokenizer.json",
    "vocabulary.txt",
    "tags.txt",
    "labels.txt",
    "assets.json",
    "results.json",
)

WEIGHTS = ".hdf5", ".safetensors"


class Repository(NamedTuple):
    """Address of a model on the Hub.

    Args:
        name: str. Owner and name of the repository, separated by a slash.
        revision: str. Branch, tag or commit. If `None` (the default), the default branch is used.
        folder: str. Folder inside the repository. If `""` (the default), it is the whole
            repository.
    """

    name: str
    revision: str | None = None
    folder: str = ""


def parse(address: str) -> Repository:
    """Parses the address of a model on the Hub.

    Args:
        address: str. Address of the form `hf://owner/repository[@revision][/folder]`.

    Returns:
        `Repository`.

    Raises:
        ValueError: If the address does not have this form, or the name is not valid.

    Example:
    >>> parse("hf://someone/their-tagger@v1.0/small")
    Repository(name='someone/their-tagger', revision='v1.0', folder='small')
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
        raise ValueError(f"{address} does not name a repository: {_line(error)}.") from error
    return Repository(match[1], match[2], folder)


def download(address: str) -> pathlib.Path:
    """Downloads the files of a model from the Hub and returns their folder in the cache.

    `huggingface_hub` downloads the files: its environment variables (`HF_HOME`, `HF_ENDPOINT`,
    `HF_TOKEN`, `HF_HUB_OFFLINE`) and its progress bars apply, interrupted downloads are resumed,
    and files that are in its cache are not downloaded again. Only the `FILES` that tfreps reads
    are downloaded.

    Args:
        address: str. Address of the form `hf://owner/repository[@revision][/folder]`.

    Returns:
        `pathlib.Path`. The folder, which must not be changed.

    Raises:
        ValueError: If the address is not valid, if there is no such repository, revision or folder,
            if the repository is private or gated and cannot be accessed, if the Hub does not answer
            and the files are not in the cache, or if the folder contains no weights in `FILES`.
        OSError: If a file cannot be written to the cache.
    """
    found = parse(address)
    prefix = f"{_literal(found.folder)}/" if found.folder else ""
    with _explained(address, found, "downloaded", ELSEWHERE):
        snapshot = huggingface_hub.snapshot_download(
            found.name,
            revision=found.revision,
            allow_patterns=[prefix + name for name in FILES],
            library_name="tfreps",
        )
    folder = pathlib.Path(snapshot, found.folder)
    if not any(file.suffix in WEIGHTS for file in folder.glob("*")):
        raise ValueError(
            f"{address} contains no model that tfreps reads: it has neither weights.hdf5 nor a "
            "safetensors file. Pickles (.bin) and the .h5 files of TensorFlow models are never "
            "downloaded. Use a repository with safetensors, or convert them with transformers."
        )
    return folder


def upload(
    folder: str | os.PathLike,
    address: str,
    message: str = "Upload with tfreps",
    private: bool | None = None,
) -> str:
    """Uploads a folder to a repository on the Hub. The repository is created if it does not exist.

    Args:
        folder: str or path-like. The folder to upload.
        address: str. Address of the form `hf://owner/repository[@revision][/folder]`. The revision
            must be a branch that exists.
        message: str. Message of the commit. Defaults to "Upload with tfreps".
        private: bool. Whether a new repository is private. If `None`, the owner's default setting
            applies. Defaults to `None`.

    Returns:
        str. URL of the commit.

    Raises:
        ValueError: If the address is not valid, the branch does not exist, no token was found, the
            Hub does not answer, or the token does not permit the upload.
    """
    found = parse(address)
    with _explained(address, found, "uploaded", "Check the connection, and try again."):
        api = huggingface_hub.HfApi(library_name="tfreps")
        api.create_repo(found.name, private=private, exist_ok=True)
        commit = api.upload_folder(
            repo_id=found.name,
            folder_path=folder,
            path_in_repo=found.folder or None,
            revision=found.revision,
            commit_message=message,
        )
    return str(commit.commit_url)


@contextlib.contextmanager
def _explained(address: str, found: Repository, done: str, hint: str) -> Iterator[None]:
    """Context manager that raises errors of `huggingface_hub` as short ValueErrors."""
    try:
        yield
    except LocalEntryNotFoundError as error:
        reason = f"it is not completely in the cache, and {_reason(error)}"
        raise ValueError(f"{address} cannot be {done}: {reason}. {hint}") from error
    except OfflineModeIsEnabled as error:
        raise ValueError(f"{address} cannot be {done}: {_reason(error)}. {hint}") from error
    except GatedRepoError as error:
        raise ValueError(
            f"{address} is gated: accept its conditions on its page, and log in with `hf auth "
            "login` or set HF_TOKEN."
        ) from error
    except RepositoryNotFoundError as error:
        raise ValueError(
            f"{address} does not exist, or it is private. Check the name, or log in with `hf auth "
            "login` or set HF_TOKEN."
        ) from error
    except RevisionNotFoundError as error:
        raise ValueError(
            f"{address} has no revision {found.revision or 'main'!r}. Use a branch, a tag or a "
            "commit of the repository."
        ) from error
    except HfHubHTTPError as error:
        code = getattr(error.response, "status_code", None)
        reason = f"the Hub answered {code}" if code else _line(error)
        login = " Log in with `hf auth login` or set HF_TOKEN." if code in (401, 403) else ""
        raise ValueError(f"{address} cannot be {done}: {reason}.{login}") from error
    except LocalTokenNotFoundError as error:
        raise ValueError(
            f"{address} needs a token: log in with `hf auth login` or set HF_TOKEN."
        ) from error
    except OSError as error:
        if error.errno is not None and error.filename is not None:
            raise
        raise ValueError(f"{address} cannot be {done}: {_line(error)}. {hint}") from error
    except Exception as error:
        if "http" not in type(error).__module__:
            raise
        raise ValueError(f"{address} cannot be {done}: {_line(error)}. {hint}") from error


def _reason(error: Exception) -> str:
    cause = error.__cause__
    if isinstance(error, OfflineModeIsEnabled) or isinstance(cause, OfflineModeIsEnabled):
        return "HF_HUB_OFFLINE is set"
    if isinstance(cause, HfHubHTTPError) and cause.response is not None:
        return f"the Hub answered {cause.response.status_code}"
    return "the Hub does not answer"


def _literal(folder: str) -> str:
    """Escapes the characters of a folder's name that have a special meaning in patterns."""
    return re.sub(r"([\[*?])", r"[\1]", folder)


def _line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")[:200] or type(error).__name__
