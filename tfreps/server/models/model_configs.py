"""ModelConfig: a model to serve, from the command line or from TensorFlow Serving's config file."""

import dataclasses
import os
import pathlib
import re
import warnings

from tfreps.server.models.version_policy import VersionPolicy, read_policy

LARGEST = 2**18  # bytes of a config file: thousands of models, read in seconds
LONGEST_NAME = 255  # characters


@dataclasses.dataclass
class ModelConfig:
    """A model to serve.

    Args:
        name: in requests.
        base_path: folder of its numbered versions.
        policy: which of them are served.
        labels: dict from names for versions to their numbers; these are served too.

    Raises:
        ValueError: the name cannot be part of an address.
    """

    name: str
    base_path: str
    policy: VersionPolicy = dataclasses.field(default_factory=VersionPolicy)
    labels: dict[str, int] = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        check_name(self.name, "model")
        for label in self.labels:
            check_name(label, "label")


def check_name(name, what):
    if not name or re.search(r"[/:=\s]", name) or not name.isprintable():
        raise ValueError(
            f"A {what} cannot be called {name[:LONGEST_NAME]!r}: no '/', ':', '=', spaces or "
            "control characters."
        )
    if len(name) > LONGEST_NAME:
        raise ValueError(f"The name of a {what} has at most {LONGEST_NAME} characters.")


def from_folders(folders: list[str], labels=(), versions=()) -> list[ModelConfig]:
    """Makes the configs of models from names and folders, as a command line has them.

    Args:
        folders: base paths, `exports/ner`, with a name in front where it is not the folder's own:
            `tagger=exports/ner`.
        labels: `NAME:LABEL=VERSION`.
        versions: `NAME:POLICY`, for policies as `read_policy` reads them.

    Raises:
        ValueError: a folder is none, a name comes twice or is unknown, or something is misspelt.
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
                f"Name one of them: other={path}"
            )
        configs[name] = ModelConfig(name, path)
    for text in labels:
        name, rest = known(text, configs, "NAME:LABEL=VERSION")
        label, _, version = rest.partition("=")
        if not (version.isascii() and version.isdigit()):
            raise ValueError(f"A label is written NAME:LABEL=VERSION, not {text!r}.")
        check_name(label, "label")
        configs[name].labels[label] = int(version)
    for text in versions:
        name, rest = known(text, configs, "NAME:POLICY")
        configs[name].policy = read_policy(rest)
    return list(configs.values())


def known(text, configs, form):
    name, colon, rest = text.partition(":")
    if not colon:
        raise ValueError(f"Expected {form}, found {text!r}.")
    if name not in configs:
        raise ValueError(f"{text!r}: no model is called {name!r}; there are {', '.join(configs)}.")
    return name, rest


def check_base(path):
    """Raises a ValueError for what is not a base path; names the likeliest mistake."""
    if not path:
        raise ValueError("A model needs the folder of its versions (base_path).")
    folder = pathlib.Path(path)
    if not folder.is_dir():
        raise ValueError(f"{path} is not a folder.")
    if (folder / "saved_model.pb").is_file():
        raise ValueError(
            f"{path} is one version of a model. Give the folder above it, "
            f"{folder.resolve().parent}, which has the versions in it."
        )


def read_config_file(path: str | os.PathLike) -> list[ModelConfig]:
    """The models of a file of TensorFlow Serving (`--model_config_file`).

    Args:
        path: text of a `ModelServerConfig` with a `model_config_list`: names, base paths, version
            policies and labels.

    Raises:
        ValueError: the file says something else.
    """
    from google.protobuf import text_format
    from tensorflow_serving.config import model_server_config_pb2

    with open(path, "rb") as file:
        text = file.read(LARGEST + 1)
    if len(text) > LARGEST:
        raise ValueError(f"{path} is larger than {LARGEST} bytes: that is no model config.")
    try:
        with warnings.catch_warnings():  # Python's own, about escapes in strings
            warnings.simplefilter("ignore")
            parsed = text_format.Parse(text.decode(), model_server_config_pb2.ModelServerConfig())
    except (UnicodeDecodeError, text_format.ParseError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"{path} is no model config of TensorFlow Serving: {reason}") from error
    configs = []
    for model in parsed.model_config_list.config:
        check_base(model.base_path)
        policy = model.model_version_policy
        choice = policy.WhichOneof("policy_choice")
        latest = 0 if choice == "all" else policy.latest.num_versions or 1
        specific = tuple(policy.specific.versions)
        if min([0, *specific, *model.version_labels.values()]) < 0:
            raise ValueError(f"{path}: versions are whole numbers from 0 on, also those of labels.")
        configs.append(
            ModelConfig(
                model.name,
                model.base_path,
                VersionPolicy(latest, specific),
                dict(model.version_labels),
            )
        )
    if not configs or len({config.name for config in configs}) < len(configs):
        raise ValueError(f"{path} must have a model_config_list of models with different names.")
    return configs
