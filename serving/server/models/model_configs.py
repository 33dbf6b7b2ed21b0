"""ModelConfig: a model to serve, from the command line or from a config file."""

import dataclasses
import os
import pathlib
import re
import warnings
from collections.abc import Iterable

LARGEST = 2**18  # maximum size of a config file in bytes; thousands of models fit
LONGEST_NAME = 255  # maximum number of characters in the name of a model


@dataclasses.dataclass(frozen=True)
class VersionPolicy:
    """Policy that selects the versions of a model to serve.

    Args:
        latest: int. Number of versions to serve, starting with the newest one. If 0, all versions
            are served. Defaults to 1.
        specific: tuple of int. Version numbers to serve, in place of the newest ones. Defaults to
            `()`.

    Example:
    >>> VersionPolicy().choose([1, 2, 10]), VersionPolicy(latest=0).choose([1, 2])
    ([10], [1, 2])
    >>> VersionPolicy(specific=(2, 7)).choose([1, 2, 10])
    [2]
    """

    latest: int = 1
    specific: tuple[int, ...] = ()

    def choose(self, found: list[int]) -> list[int]:
        """Returns a list of the versions to serve, a subset of `found`, in ascending order."""
        if self.specific:
            return sorted(set(self.specific) & set(found))
        return sorted(found)[-self.latest :]


@dataclasses.dataclass
class ModelConfig:
    """Configuration of a model to serve.

    Args:
        name: str. The name of the model in requests.
        base_path: str or path-like. The folder that contains the numbered versions.
        policy: `VersionPolicy` that selects the versions to serve. Defaults to `VersionPolicy()`,
            which selects the newest version.
        labels: dict from labels to version numbers. These versions are served as well. Defaults to
            `{}`.

    Raises:
        ValueError: If the name or a label is empty, has more than 255 characters, or contains `/`,
            `:`, `=`, whitespace or unprintable characters.

    Example:
    >>> ModelConfig("ner", "exports/ner", labels={"stable": 1}).policy
    VersionPolicy(latest=1, specific=())
    """

    name: str
    base_path: str | os.PathLike[str]
    policy: VersionPolicy = dataclasses.field(default_factory=VersionPolicy)
    labels: dict[str, int] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        check_name(self.name, "model")
        for label in self.labels:
            check_name(label, "label")


def check_name(name: str, what: str) -> None:
    if not name or re.search(r"[/:=\s]", name) or not name.isprintable():
        raise ValueError(
            f"The name of a {what} must not be empty or contain '/', ':', '=', whitespace or "
            f"unprintable characters; got {name[:LONGEST_NAME]!r}."
        )
    if len(name) > LONGEST_NAME:
        raise ValueError(
            f"The name of a {what} must have at most {LONGEST_NAME} characters; got {len(name)}."
        )


def from_folders(
    folders: list[str], labels: Iterable[str] = (), versions: Iterable[str] = ()
) -> list[ModelConfig]:
    """Returns a list of `ModelConfig` for the models on the command line.

    Args:
        folders: list of str. Base paths of the models. A model is named after its folder, unless a
            name precedes the path (`"tagger=exports/ner"`).
        labels: iterable of str. Labels of versions, such as `"ner:stable=1"`. Defaults to `()`.
        versions: iterable of str. Version policies, such as `"ner:latest:2"`; see `read_policy`.
            Defaults to `()`.

    Raises:
        ValueError: If an argument is not valid, or two models have the same name.
    """
    configs = {}
    for folder in folders:
        name, equals, path = folder.partition("=")
        path = path if equals and not os.path.isdir(folder) else folder
        name = name if path != folder else pathlib.Path(path).resolve().name
        check_base(path)
        if name in configs:
            raise ValueError(
                f"Two models are called {name!r}: {configs[name].base_path} and {path}. "
                f"Give one of them another name, such as `other={path}`."
            )
        configs[name] = ModelConfig(name, path)
    for text in labels:
        name, rest = known(text, configs, "labels", "NAME:LABEL=VERSION")
        label, _, version = rest.partition("=")
        if not (version.isascii() and version.isdigit()):
            raise ValueError(f"`labels` must have the form NAME:LABEL=VERSION; got {text!r}.")
        check_name(label, "label")
        configs[name].labels[label] = int(version)
    for text in versions:
        name, rest = known(text, configs, "versions", "NAME:POLICY")
        configs[name].policy = read_policy(rest)
    return list(configs.values())


def read_policy(text: str) -> VersionPolicy:
    """Returns the `VersionPolicy` for a text from the command line.

    >>> read_policy("latest:2"), read_policy("3,4").specific
    (VersionPolicy(latest=2, specific=()), (3, 4))
    """
    kind, _, count = text.partition(":")
    if text == "all":
        return VersionPolicy(latest=0)
    if kind == "latest" and (not count or (count.isascii() and count.isdigit() and int(count))):
        return VersionPolicy(latest=int(count or 1))
    numbers = text.split(",")
    if all(number.isascii() and number.isdigit() for number in numbers):
        return VersionPolicy(specific=tuple(map(int, numbers)))
    raise ValueError(
        "A version policy must be all, latest, latest:N for the N newest versions (N at least 1), "
        f"or version numbers such as 3,4; got {text!r}."
    )


def known(text: str, configs: dict[str, ModelConfig], argument: str, form: str) -> tuple[str, str]:
    name, colon, rest = text.partition(":")
    if not colon:
        raise ValueError(f"`{argument}` must have the form {form}; got {text!r}.")
    if name not in configs:
        raise ValueError(
            f"`{argument}` must start with the name of a model ({', '.join(configs) or 'none'}) "
            f"and a colon; got {text!r}."
        )
    return name, rest


def check_base(path: str | os.PathLike[str]) -> None:
    """Raises a ValueError if a path is not a folder that contains numbered versions of a model."""
    if not path:
        raise ValueError("`base_path` must name the folder of a model's versions; got ''.")
    folder = pathlib.Path(path)
    if not folder.is_dir():
        raise ValueError(
            f"{path} is not a folder. Give the folder that contains the numbered versions of a "
            "model, such as the folder that `tfreps export` wrote."
        )
    if (folder / "saved_model.pb").is_file():
        raise ValueError(
            f"{path} is a single version of a model. Give its parent folder, "
            f"{folder.resolve().parent}, which contains the versions."
        )


def read_config_file(path: str | os.PathLike[str]) -> list[ModelConfig]:
    """Returns the `ModelConfig`s in a config file of TensorFlow Serving (`--model_config_file`).

    The file contains a `ModelServerConfig` in the text format of protobuf, whose
    `model_config_list` has names, base paths, version policies and labels.

    Raises:
        ValueError: If the file is not valid, contains no models, or names a folder without
            versions.
        OSError: If the file cannot be read.
    """
    from google.protobuf import text_format
    from tensorflow_serving.config import model_server_config_pb2

    with open(path, "rb") as file:
        text = file.read(LARGEST + 1)
    if len(text) > LARGEST:
        raise ValueError(
            f"{path} must have at most {LARGEST} bytes, the maximum for a model config; the "
            "file has more. Split it into several files for several servers."
        )
    try:
        with warnings.catch_warnings():  # Python warns about invalid escapes in strings
            warnings.simplefilter("ignore")
            parsed = text_format.Parse(
                text.decode("utf-8-sig"), model_server_config_pb2.ModelServerConfig()
            )
    except (UnicodeDecodeError, text_format.ParseError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(
            f"{path} is not a model config of TensorFlow Serving in text format: {reason}"
        ) from error
    configs = []
    for model in parsed.model_config_list.config:
        check_base(model.base_path)
        policy = model.model_version_policy
        choice = policy.WhichOneof("policy_choice")
        latest = 0 if choice == "all" else policy.latest.num_versions or 1
        specific = tuple(policy.specific.versions)
        lowest = min([0, *specific, *model.version_labels.values()])
        if lowest < 0:
            raise ValueError(
                f"{path}: version numbers of models and labels must not be negative; got {lowest}."
            )
        configs.append(
            ModelConfig(
                model.name,
                model.base_path,
                VersionPolicy(latest, specific),
                dict(model.version_labels),
            )
        )
    if not configs:
        raise ValueError(
            f"{path} contains no models. Add at least one `config` to its `model_config_list`."
        )
    return configs
