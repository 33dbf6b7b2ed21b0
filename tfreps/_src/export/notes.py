"""write_notes: writes README.md, models.config and batching.config of an export."""

import json
import os
import pathlib
import re
import textwrap
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from tfreps._src.export.signature_base import ATTENDED, Signatures
from tfreps._src.files.atomic_files import write_text
from tfreps._src.files.model_card import model_card, table

FILES = "README.md", "models.config", "batching.config"
MARK = b"ritten by `tfreps export`"  # text that each of these files contains
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
INTRODUCTION = (
    "{title}, written by `tfreps export` as a SavedModel. It {reads}. The numbered folders are "
    "versions; this README describes version {version}."
)
REQUESTS = """\
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
```"""
TOKENS = """\
The signature `tokens` takes sentences that are already split. All rows of a request have the same
length, so the shorter ones end with `""`; `sequence_len` is the number of tokens:

```bash
curl -d '{{"signature_name": "tokens", "instances": [
    {{"tokens": ["The", "dog", "sat", "down"], "sequence_len": 4}},
    {{"tokens": ["It", "sleeps", "", ""], "sequence_len": 2}}]}}' \\
    http://localhost:8501/v1/models/{name}:predict
```"""
LETTERS = (
    "N sentences, T tokens (of the longest sentence in the batch), C characters, D features, K "
    "tags or labels, S spans, k paths, L layers, H heads, P pieces"
)
BATCHES = """\
Strings are UTF-8. Outputs do not depend on earlier requests.

A server may merge requests into one batch. An output with the axis T is then padded to the longest
sentence of the batch, so its width depends on the other requests. Only the first `sequence_len`
tokens of each sentence are real."""
AND_TEXT = (
    "TensorFlow and these operations of TensorFlow Text: {ops}. TensorFlow "
    "Serving includes them, and `tfreps serve` uses them if tensorflow-text is installed; in "
    "Python, `import tensorflow_text` before loading the model"
)
CONSTANTS = (
    "The model computes in 16 bits. Its weights are constants in saved_model.pb, because calls are "
    "then faster than with variables."
)
TOO_LARGE = (
    "The model computes in 16 bits. Its weights are variables: as constants, which make calls "
    "faster, they may have at most 1 GB, because a graph has at most 2 GB."
)
UNITS = {
    "spaces": "every run of characters between white space",
    "words": "every run of letters, digits, combining marks and underscores, and every other "
    "character except white space",
    "treebank": "words, punctuation marks and contractions, as the Penn Treebank separates them",
    "bert_words": "every run of letters, digits and combining marks, every CJK character, and "
    "every other character except white space",
    "characters": "every character except white space",
    "all_characters": "every character; white space becomes the token ▁",
}

# Name (a regular expression) -> letters of its axes, and description.
MEANINGS = {
    "text": ("N", "raw sentences or texts, UTF-8"),
    "tokens": ("NT", 'the tokens, `""` on padding'),
    "sequence_len": ("N", "number of tokens of each sentence; the rest is padding"),
    "character_ids": ("NTC", "ids of each token's characters"),
    "word_character_ids": (
        "NTC",
        "id of each token's word, if there are words, and its characters",
    ),
    "token_ids": ("NT", "vocabulary ids plus 1"),
    "default": ("ND", "one vector per sentence: the mean of its tokens' vectors"),
    "elmo": ("NTD", "contextual vector of each token: the mix of all layers"),
    "word_emb": ("NTD", "vector of each token without context"),
    r"lstm_outputs\d+": ("NTD", "vectors of one layer"),
    "sequence_output": ("NTD", "contextual vector of each token, 0 on padding"),
    "pooled_output": ("ND", "one vector per text, from the pooler"),
    "vectors": ("ND", "one vector per text"),
    "batch_size": ("", "number of sentences to score"),
    "(forward|backward)_(hidden|cell)": ("NLD", "states of the language model, input and output"),
    "nll": ("N", "-log p of the sentence in nats, sum of both directions"),
    "(forward|backward)_nll": ("N", "-log p of the sentence in nats in this direction"),
    "token_count": ("N", "predictions per direction: one per token, plus one for the boundary"),
    "forward_surprise": ("NT", "-log p(token | all tokens before it) in nats, 0 on padding"),
    "backward_surprise": ("NT", "-log p(token | all tokens after it) in nats, 0 on padding"),
    "end_surprise": ("N", "-log p(the sentence ends | all its tokens) in nats"),
    "start_surprise": ("N", "-log p(the sentence starts | all its tokens) in nats"),
    "in_vocabulary": ("NT", "1 if the vocabulary has the token, 0 if it is read as `<UNK>`"),
    "tags": ("NT", 'the best legal tag sequence, `""` on padding'),
    "confidences": ("NT", "probability of each tag in `tags`, 0 on padding"),
    "span_types": ("NS", 'types of the spans, in order, `""` after the last span'),
    "span_starts": ("NS", "index of the first token of each span, from 0"),
    "span_ends": ("NS", "index after the last token of each span"),
    "span_confidences": ("NS", "posterior probability of each span, 0 after the last span"),
    "span_start_chars": ("NS", "first character of each span in `text`, in Unicode code points"),
    "span_end_chars": ("NS", "position after the last character of each span"),
    "num_spans": ("N", "number of spans of each sentence"),
    "path_tags": ("NkT", "the best tag sequences, best first"),
    "path_scores": ("Nk", "log-probability of each path, -3.4e38 if there are fewer paths"),
    "path_probabilities": ("Nk", "probability of each path"),
    "marginals": ("NTK", "probability of each tag at each token"),
    "tag_names": ("NK", "the tags, in the order of `marginals`; the same in every row"),
    "label": ("N", "the most probable label"),
    "probability": ("N", "probability of `label`"),
    "labels": ("NK", "all labels, the same in every row"),
    "probabilities": ("NK", "probability of each label in `labels`"),
    "token_weights": ("NT", "weight of each token in the pooling; the weights sum to 1"),
    "attention": ("NLHPP", "attention weights (from, to); rows of real pieces sum to 1"),
    "attention_tokens": ("NP", 'the tokens or pieces of `attention`, `""` on padding'),
}


def write_notes(
    base: str | os.PathLike[str],
    version: int,
    signatures: Signatures,
    functions: Mapping[str, Any],
    overwrite: bool = False,
) -> None:
    """Writes README.md and the configuration files of an exported model atomically.

    Existing files of earlier versions are replaced.

    The name of the folder `base` is the name of the model. README.md describes the version number
    `version`. `functions` maps the name of each signature to its concrete function. Files with
    these names that tfreps did not write are replaced only if `overwrite` is `True`.
    """
    check_notes(base, overwrite)
    base = pathlib.Path(base)
    name = model_name(base)
    text = model_card(name, _body(name, version, signatures, functions), **signatures.known)
    quoted, path = (json.dumps(part, ensure_ascii=False) for part in (name, f"/models/{name}"))
    contents = text, MODELS.format(quoted=quoted, path=path), BATCHING
    for file, content in zip(FILES, contents, strict=True):
        write_text(base / file, content)


def _body(name: str, version: int, signatures: Signatures, functions: Mapping[str, Any]) -> str:
    """Returns the part of README.md that describes the export and its signatures."""
    reads_text = "default" in functions
    ops = ", ".join(f"`{op}`" for op in text_ops(functions))
    needs = AND_TEXT.format(ops=ops) if ops else "only TensorFlow"
    introduction = INTRODUCTION.format(
        title=signatures.title[0].upper() + signatures.title[1:],
        reads=f"takes raw strings, and needs {needs}" if reads_text else "reads ids, not text",
        version=version,
    )
    other = "explain" if "explain" in functions else "default"
    parts = [
        textwrap.fill(introduction, 100),
        reads_text and REQUESTS.format(name=name, server=SERVER, other=other),
        "tokens" in functions and TOKENS.format(name=name),
        "## Signatures",
        f"{LETTERS}.",
        reads_text and BATCHES,
        *(textwrap.fill(notice, 100) for notice in signatures.notices),
        *(textwrap.fill(notice, 100) for notice in _about_weights(signatures.weights)),
        *(_section(key, function) for key, function in functions.items()),
        reads_text and f"## Cost of a request\n\n{about_cost(signatures.text_counts)}",
    ]
    return "\n\n".join(part for part in parts if part)


def check_notes(base: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Raises a ValueError if a folder contains a file of `FILES` that tfreps did not write.

    If `overwrite` is `True`, nothing is checked.
    """
    for path in (pathlib.Path(base, name) for name in FILES):
        if not overwrite and path.exists() and (path.is_dir() or MARK not in path.read_bytes()):
            raise ValueError(
                f"{path} already exists and was not written by `tfreps export`. Choose another "
                "folder for the export, or pass `overwrite=True` to replace the file."
            )


def text_ops(functions: Mapping[str, Any]) -> list[str]:
    """Returns a sorted list of the TensorFlow Text operations that the traced functions contain."""
    found = set()
    for function in functions.values():
        graph = function.graph.as_graph_def()
        found |= {node.op for node in graph.node}
        found |= {node.op for part in graph.library.function for node in part.node_def}
        found -= {part.signature.name for part in graph.library.function}
    return sorted(op for op in found if not hasattr(tf.raw_ops, op))


def model_name(base: str | os.PathLike[str]) -> str:
    """Returns the name of a model, which is the name of its folder."""
    return pathlib.Path(base).absolute().name


def about_cost(counts: Mapping[str, Any]) -> str:
    """Returns the paragraph about the cost of a request for the README of an export."""
    cut = added = squares = ""
    if counts["most_per_text"] is not None:
        cut = f"; texts are truncated to {counts['most_per_text']:,} tokens"
    if counts["added_per_text"]:
        added = f"; the model adds {counts['added_per_text']} tokens to each text"
    if counts["attends"]:
        squares = (
            f" A text of t > {ATTENDED:,} tokens counts as t * t / {ATTENDED:,} tokens, since each "
            "token attends to all others."
        )
    text = (
        "The time and memory that a request needs grow with its number of tokens after padding, "
        "which is the number of texts times the number of tokens in the longest text. An empty "
        "text counts as one token. These count as tokens: "
        f"{UNITS[counts['tokens']]}{added}{cut}.{squares} `tfreps serve` rejects requests beyond "
        "`--max-tokens` and `--max-text-tokens`. TensorFlow Serving has no such limit, so limit "
        "requests before they reach it."
    )
    return textwrap.fill(text, 100)


def _about_weights(weights):
    """Returns a list of README paragraphs about the form in which an export stores its weights.

    The list has one paragraph for a model that computes in 16 bits and whose weights are not stored
    in fewer bits, and is empty for other models. `weights` is a `StoredWeights`.
    """
    if weights.stored or weights.precision == "float32":
        return []
    return [TOO_LARGE if weights.too_large else CONSTANTS]


def _section(name: str, function: Any) -> str:
    """Returns a Markdown section with the table of a signature's inputs and outputs."""
    if name == "serving_default":
        return "### `serving_default`\n\nThe same as the previous signature."
    rows = []
    inputs = function.structured_input_signature[1]
    for word, parts in ("input", inputs), ("output", function.structured_outputs):
        for key, spec in sorted(parts.items()):
            letters, meaning = _meaning(key)
            kind = "str" if spec.dtype.name == "string" else spec.dtype.name
            rows.append((word, f"`{key}`", kind, _shape(key, spec, letters), meaning))
    return f"### `{name}`\n\n" + table(("", "name", "dtype", "shape", "meaning"), rows)


def _meaning(name: str) -> tuple[str, str]:
    """Looks up an input or output by its name.

    Returns a letter for each of its axes, such as `"NT"`, and a description for the README.
    """
    for pattern, found in MEANINGS.items():
        if re.fullmatch(pattern, name):
            return found
    raise ValueError(f"`MEANINGS` has no entry for {name!r}. Add one in {__name__}.")


def _shape(name: str, spec: tf.TensorSpec, letters: str) -> str:
    """Returns a shape as text, such as `[N, T, 128]`, with letters for axes of unknown size."""
    sizes = list(spec.shape) if spec.shape.rank is not None else [None] * len(letters)
    if len(sizes) != len(letters):
        raise ValueError(
            f"The input or output {name!r} must have {len(letters)} axes, {letters}, as in "
            f"`MEANINGS` of {__name__}; got shape {spec.shape}."
        )
    return f"[{', '.join(str(s or x) for s, x in zip(sizes, letters, strict=True))}]"
