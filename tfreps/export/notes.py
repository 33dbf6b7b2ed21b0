"""write_notes: writes README.md, models.config and batching.config of an export."""

import json
import pathlib
import textwrap

import tensorflow as tf

from tfreps.export.output_docs import LETTERS, meaning
from tfreps.export.text_counts import about_cost
from tfreps.files.atomic_files import write_text
from tfreps.files.model_card import ModelCard

FILES = "README.md", "models.config", "batching.config"
MARK = b"ritten by `tfreps export`"  # in each of the files
SERVER = "tensorflow/serving:2.20.0"
MAX_BATCH = 32

MODELS = """\
# Written by `tfreps export`, for tensorflow_model_server --model_config_file in its container. For
# `tfreps serve --model-config`, set base_path to the folder on your machine.
model_config_list {{
  config {{
    name: {quoted}
    base_path: {path}
    model_platform: "tensorflow"
    model_version_policy {{ latest {{ num_versions: 1 }} }}
  }}
}}
"""
BATCHING = f"""\
# Written by `tfreps export`, for tensorflow_model_server --enable_batching
# --batching_parameters_file.
max_batch_size {{ value: {MAX_BATCH} }}
batch_timeout_micros {{ value: 2000 }}
max_enqueued_batches {{ value: 100 }}
num_batch_threads {{ value: 2 }}
pad_variable_length_inputs: true
"""
README = """\
{front_matter}

# {name}

{title}, written by `tfreps export` as a SavedModel that takes raw strings. It needs
{needs}. The numbered folders are versions; this README describes version {version}.

## Requests

For development, run in the parent folder:

```bash
tfreps serve {name}
```

The server runs until Ctrl-C. In another terminal:

```bash
tfreps query {name} "The dog sat on the mat ."
```

For production, use TensorFlow Serving, with gRPC on port 8500 and REST on port 8501:

```bash
docker run --rm -p 8500:8500 -p 8501:8501 -v "$PWD/{name}:/models/{name}:ro" {server} \\
    --model_config_file=/models/{name}/models.config \\
    --enable_batching --batching_parameters_file=/models/{name}/batching.config
```

To serve without batching, add `-e MODEL_NAME={name}` before the image name and leave out the
options after it. To send a request to either server:

```bash
curl -d '{{"instances": ["The dog sat on the mat ."]}}' \\
    http://localhost:8501/v1/models/{name}:predict
```

To use a signature other than `serving_default`:

```bash
curl -d '{{"signature_name": "{other}", "instances": ["The dog sat on the mat ."]}}' \\
    http://localhost:8501/v1/models/{name}:predict
```
{tokens}
## Signatures

{letters}. Strings are UTF-8. Answers do not depend on earlier requests.

A server may merge requests into one batch. An answer with the axis T is then padded to the longest
sentence of the batch, so its width depends on the other requests. Read as many tokens of each
sentence as `sequence_len` says.
{notices}{signatures}
## Cost of a request

{cost}

{origin}
"""
TOKENS = """
The signature `tokens` takes sentences that are already split. All rows of a request have the same
length, so the shorter ones end with `""`; `sequence_len` is the number of tokens:

```bash
curl -d '{{"signature_name": "tokens", "instances": [
    {{"tokens": ["The", "dog", "sat", "down"], "sequence_len": 4}},
    {{"tokens": ["It", "sleeps", "", ""], "sequence_len": 2}}]}}' \\
    http://localhost:8501/v1/models/{name}:predict
```
"""
ALONE = "only TensorFlow"
AND_TEXT = """\
TensorFlow and these operations of TensorFlow Text: {ops}. TensorFlow Serving includes them, and
`tfreps serve` uses them if tensorflow-text is installed; in Python, `import tensorflow_text` before
loading the model"""
IDS_ONLY = """\
{front_matter}

# {name}

{title}, written by `tfreps export` as a SavedModel. It reads ids, not text. The numbered folders
are versions; this README describes version {version}.

## Signatures

{letters}.
{notices}{signatures}
{origin}
"""


def write_notes(base, version, title, functions, counts, overwrite=False, known=None, notices=()):
    """Writes README.md and the configuration files atomically, replacing those of earlier versions.

    Args:
        base: str or path-like. Folder with the versions; its name is the name of the model.
        version: int. Version that README.md describes.
        title: str. Description of the model.
        functions: dict. Concrete function of each signature, by name.
        counts: dict. Description of the tokenization, as passed to `write_counts`.
        overwrite: bool. Whether to replace files with these names that tfreps did not write.
            Defaults to `False`.
        known: dict or None. Facts about the training, as returned by
            `tfreps.runs.run_card.run_card`. If `None` (the default), the README says that the
            training was not recorded.
        notices: sequence of str. Paragraphs for users of the signatures. Defaults to `()`.

    Raises:
        ValueError: If `overwrite` is `False` and tfreps did not write one of the existing files, or
            if an input or output has no entry in `MEANINGS` or a different number of axes.
    """
    base = pathlib.Path(base)
    name = model_name(base)
    signatures = "".join(_section(key, function) for key, function in functions.items())
    form = README if "default" in functions else IDS_ONLY
    ops = ", ".join(f"`{op}`" for op in text_ops(functions))
    other = "explain" if "explain" in functions else "default"
    card = ModelCard(name, title, "", **(known or {}))
    text = form.format(
        **{"name": name, "version": version, "server": SERVER, "other": other},
        front_matter=card.front_matter(),
        origin=card.origin(),
        cost=about_cost(counts),
        needs=AND_TEXT.format(ops=ops) if ops else ALONE,
        tokens=TOKENS.format(name=name) if "tokens" in functions else "",
        notices="".join(f"\n{textwrap.fill(notice, 100)}\n" for notice in notices),
        **{"title": title[0].upper() + title[1:], "letters": LETTERS, "signatures": signatures},
    )
    check_notes(base, overwrite)
    quoted, path = (json.dumps(part, ensure_ascii=False) for part in (name, f"/models/{name}"))
    contents = text, MODELS.format(quoted=quoted, path=path), BATCHING
    for file, content in zip(FILES, contents, strict=True):
        write_text(base / file, content)


def check_notes(base, overwrite=False):
    """Raises a ValueError if a folder contains a file of `FILES` that tfreps did not write.

    With `overwrite=True`, nothing is checked.
    """
    for path in (pathlib.Path(base, name) for name in FILES):
        if not overwrite and path.exists() and (path.is_dir() or MARK not in path.read_bytes()):
            raise ValueError(
                f"{path} already exists and was not written by `tfreps export`. Choose another "
                "folder for the export, or pass `overwrite=True` to replace the file."
            )


def text_ops(functions) -> list[str]:
    """Returns the names of the TensorFlow Text operations in traced functions.

    Args:
        functions: dict. Concrete function of each signature, by name.

    Returns:
        list of str, in alphabetical order. It is empty if the functions use only core TensorFlow
        operations.
    """
    found = set()
    for function in functions.values():
        graph = function.graph.as_graph_def()
        found |= {node.op for node in graph.node}
        found |= {node.op for part in graph.library.function for node in part.node_def}
        found -= {part.signature.name for part in graph.library.function}
    return sorted(op for op in found if not hasattr(tf.raw_ops, op))


def model_name(base) -> str:
    """Returns the name of a model, which is the name of its folder."""
    return pathlib.Path(base).absolute().name


def _section(name, function):
    """Returns the table of a signature's inputs and outputs."""
    if name == "serving_default":
        return "\n### `serving_default`\n\nThe same as the previous signature.\n"
    rows = ["| | name | dtype | shape | meaning |", "|---|---|---|---|---|"]
    inputs = function.structured_input_signature[1]
    for word, parts in ("input", inputs), ("output", function.structured_outputs):
        for key in sorted(parts):
            rows.append(f"| {word} | `{key}` | {_kind(parts[key])} | {_shape(key, parts[key])}")
            rows[-1] += f" | {meaning(key)[1]} |"
    return f"\n### `{name}`\n\n" + "\n".join(rows) + "\n"


def _kind(spec):
    return "str" if spec.dtype.name == "string" else spec.dtype.name


def _shape(name, spec):
    """Returns the axes as letters, or as numbers where they are fixed, as in `[N, T, 128]`."""
    letters = meaning(name)[0]
    sizes = list(spec.shape) if spec.shape.rank is not None else [None] * len(letters)
    if len(sizes) != len(letters):
        raise ValueError(
            f"The input or output {name!r} must have {len(letters)} axes, {letters}, as in "
            f"`MEANINGS` of tfreps.export.output_docs; got shape {spec.shape}."
        )
    return f"[{', '.join(str(s or x) for s, x in zip(sizes, letters, strict=True))}]"
