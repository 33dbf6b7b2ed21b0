"""write_notes: README.md, models.config and batching.config beside the versions of a model."""

import json
import pathlib

import tensorflow as tf

from tfreps.export.output_docs import LETTERS, meaning
from tfreps.export.text_counts import about_cost
from tfreps.files.atomic_files import write_text

FILES = "README.md", "models.config", "batching.config"
MARK = b"ritten by `tfreps export`"  # in each of the files
SERVER = "tensorflow/serving:2.20.0"
MAX_BATCH = 32

MODELS = """\
# Written by `tfreps export`. Read by tensorflow_model_server --model_config_file in its container,
# and by `tfreps serve --model-config` with the base_path of this machine.
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
# Written by `tfreps export`. Read by tensorflow_model_server --enable_batching
# --batching_parameters_file.
max_batch_size {{ value: {MAX_BATCH} }}
batch_timeout_micros {{ value: 2000 }}
max_enqueued_batches {{ value: 100 }}
num_batch_threads {{ value: 2 }}
pad_variable_length_inputs: true
"""
README = """\
# {name}

{title}, written by `tfreps export` as a SavedModel that takes raw strings. It needs TensorFlow
{needs}. The folders named by numbers are versions; what follows describes version {version}.

## Ask it

From the folder above this one, for development:

```bash
tfreps serve {name}
tfreps query {name} "The dog sat on the mat ."
```

In production, gRPC on port 8500 and REST on 8501:

```bash
docker run --rm -p 8500:8500 -p 8501:8501 -v "$PWD/{name}:/models/{name}:ro" {server} \\
    --model_config_file=/models/{name}/models.config \\
    --enable_batching --batching_parameters_file=/models/{name}/batching.config
```

(with `-e MODEL_NAME={name}` in place of the files there is no batching). Either server answers

```bash
curl -d '{{"instances": ["The dog sat on the mat ."]}}' \\
    http://localhost:8501/v1/models/{name}:predict
```

and for another signature than `serving_default`

```bash
curl -d '{{"signature_name": "{other}", "instances": ["The dog sat on the mat ."]}}' \\
    http://localhost:8501/v1/models/{name}:predict
```

## Signatures

{letters}. Strings are UTF-8. No answer depends on a request before it.
{signatures}
## What a request costs

{cost}
"""
ALONE = "alone"
AND_TEXT = """\
and these operations of TensorFlow Text: {ops}. TensorFlow Serving has them, and so has `tfreps
serve` where tensorflow-text is installed; in Python, `import tensorflow_text` before loading it"""
IDS_ONLY = """\
# {name}

{title}, written by `tfreps export` as a SavedModel. It reads ids, not text. The folders named by
numbers are versions; what follows describes version {version}.

## Signatures

{letters}.
{signatures}
"""


def write_notes(base, version, title, functions, counts, overwrite=False):
    """Writes the three files, each whole or not at all, in place of those of older versions.

    Args:
        base: folder with the versions; its name is the model's.
        version: int, of which README.md tells.
        title: str. What the model is.
        functions: dict from the name of a signature to its concrete function.
        counts: dict. How texts are cut, see `write_counts`.
        overwrite: bool. Whether to replace files of these names that tfreps did not write.

    Raises:
        ValueError: there is such a file.
    """
    base = pathlib.Path(base)
    name = model_name(base)
    signatures = "".join(_section(key, function) for key, function in functions.items())
    form = README if "default" in functions else IDS_ONLY
    ops = ", ".join(f"`{op}`" for op in text_ops(functions))
    other = "explain" if "explain" in functions else "default"
    text = form.format(
        **{"name": name, "version": version, "server": SERVER, "other": other},
        cost=about_cost(counts),
        needs=AND_TEXT.format(ops=ops) if ops else ALONE,
        **{"title": title[0].upper() + title[1:], "letters": LETTERS, "signatures": signatures},
    )
    check_notes(base, overwrite)
    quoted, path = (json.dumps(part, ensure_ascii=False) for part in (name, f"/models/{name}"))
    contents = text, MODELS.format(quoted=quoted, path=path), BATCHING
    for file, content in zip(FILES, contents, strict=True):
        write_text(base / file, content)


def check_notes(base, overwrite=False):
    """Raises a ValueError if the folder holds a file of these names that tfreps did not write."""
    for path in (pathlib.Path(base, name) for name in FILES):
        if not overwrite and path.exists() and (path.is_dir() or MARK not in path.read_bytes()):
            raise ValueError(
                f"{path} exists already, and `tfreps export` did not write it: choose another "
                "folder for the export, or allow it to be overwritten."
            )


def text_ops(functions) -> list[str]:
    """The operations in traced functions that are not TensorFlow's own, but TensorFlow Text's."""
    found = set()
    for function in functions.values():
        graph = function.graph.as_graph_def()
        found |= {node.op for node in graph.node}
        found |= {node.op for part in graph.library.function for node in part.node_def}
        found -= {part.signature.name for part in graph.library.function}
    return sorted(op for op in found if not hasattr(tf.raw_ops, op))


def model_name(base) -> str:
    """The name of a model: that of its folder."""
    return pathlib.Path(base).absolute().name


def _section(name, function):
    """A table of what a signature takes and gives."""
    if name == "serving_default":
        return "\n### `serving_default`\n\nThe same as the one before it.\n"
    rows = ["| | name | dtype | shape | |", "|---|---|---|---|---|"]
    inputs = function.structured_input_signature[1]
    for word, parts in ("takes", inputs), ("gives", function.structured_outputs):
        for key in sorted(parts):
            rows.append(f"| {word} | `{key}` | {_kind(parts[key])} | {_shape(key, parts[key])}")
            rows[-1] += f" | {meaning(key)[1]} |"
    return f"\n### `{name}`\n\n" + "\n".join(rows) + "\n"


def _kind(spec):
    return "str" if spec.dtype.name == "string" else spec.dtype.name


def _shape(name, spec):
    """Letters, and numbers where they are fixed: `[N, T, 128]`."""
    letters = meaning(name)[0]
    sizes = list(spec.shape) if spec.shape.rank is not None else [None] * len(letters)
    if len(sizes) != len(letters):
        raise ValueError(f"{name!r} has the shape {spec.shape}; expected axes {letters}.")
    return f"[{', '.join(str(s or x) for s, x in zip(sizes, letters, strict=True))}]"
