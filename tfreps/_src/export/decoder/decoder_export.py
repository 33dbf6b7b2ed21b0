"""write_decoder: writes a decoder of tags and spans as ONNX, LiteRT or SavedModel."""

import os
import pathlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import tensorflow as tf

from tfreps._src.export.decoder.decoder_model import LOGITS, MASK, decoder_model
from tfreps._src.export.decoder.joined_onnx import (
    joined_onnx,
    model_to_join,
    opset_of,
)
from tfreps._src.export.decoder.short_names import with_short_names
from tfreps._src.export.export_check import check_output
from tfreps._src.export.portable.converters import OPSET, check_packages, convert
from tfreps._src.export.portable_model import PortableModel
from tfreps._src.files.argument_checks import check_choice, check_integers
from tfreps._src.files.atomic_files import is_free, replacing
from tfreps._src.files.json_files import write_json
from tfreps._src.inference import run
from tfreps._src.inference.opening_exports import DEFAULT_ENGINE
from tfreps._src.models.tagger import Tagger
from tfreps._src.text.tags.tag_schemes import Scheme

Format = Literal["onnx", "litert", "saved_model"]
FILES = {"onnx": "decoder.onnx", "litert": "decoder.tflite", "saved_model": "saved_model.pb"}
JOINED = "model.onnx"
CLOSE = 1e-4  # largest difference of probabilities that is not an error
SIZES = (1, 1), (3, 7), (2, 40)  # sentences and tokens of the batches of the check
ABOUT = {
    LOGITS: ("float32", "[B, T, {num_tags}]", "score of each tag, in nats, before any softmax"),
    MASK: ("bool", "[B, T]", "true on real tokens, which may be at any position"),
    "tags": ("int32", "[B, T]", "index of the best tag in `tags` of decoder.json; 0 where masked"),
    "confidences": ("float32", "[B, T]", "probability of each of these tags; 0 where masked"),
    "spans": (
        "int32", "[B, S, 3]",
        "type (index in `span_types`, -1 on padding), start and end (exclusive) of each span",
    ),
    "span_confidences": ("float32", "[B, S]", "probability of each span; 0 on padding"),
    "path_tags": ("int32", "[B, {num_paths}, T]", "the best sequences of tags, the best one first"),
    "path_probabilities": (
        "float32", "[B, {num_paths}]", "probability of each of these; 0 if there are fewer",
    ),
}  # fmt: skip
WORD_STARTS = "bool", "[B, T]", "true on the first piece of each word, the only pieces with tags"
README = """\
# Decoder of tags

`{file}`, written by `tfreps export-decoder`, computes the most probable sequence of tags
{constraint}.

{tables}

B is the number of sentences, at least 1. T is the number of tokens of the longest one. The other
inputs than `logits` say which tokens have tags: those at which all of them are true (in a joined
model, not 0). Two of these tokens are neighbors if there is no other one between them, and starts
and ends of spans count only these tokens.
"""
TABLE = "| {title} | type | shape | meaning |\n|---|---|---|---|\n{rows}"


class WrittenDecoder(NamedTuple):
    """Result of `write_decoder`.

    Attributes:
        folder: `pathlib.Path`. The folder.
        file: `pathlib.Path`. The model in this folder.
        size: int. Size of the model in bytes.
        difference: float. Largest difference between a probability that the written decoder
            computed for random scores, and the same probability computed by tfreps; 0 without
            probabilities.
    """

    folder: pathlib.Path
    file: pathlib.Path
    size: int
    difference: float


def write_decoder(
    folder: str | os.PathLike[str],
    tags: Sequence[str],
    scheme: Scheme | None = None,
    transitions: Sequence[np.ndarray] | None = None,
    format: Format = "onnx",
    word_starts: str | None = None,
    num_paths: int | None = None,
    unused_tags: Collection[str] = (),
    probabilities: bool = True,
    join: str | os.PathLike[str] | None = None,
    logits: str = "logits",
    mask: str = "attention_mask",
) -> WrittenDecoder:
    """Writes a small model from the scores of tags to tags, spans and exact probabilities.

        score(y) = start[y_1] + sum_t logits[t, y_t] + sum_{t>1} transitions[y_{t-1}, y_t]
                   + end[y_n]
        p(y)     = exp(score(y)) / sum over all allowed y' of exp(score(y'))

    It decodes the scores of any token classifier: the most probable sequence of tags that the
    scheme allows is found by the Viterbi algorithm, and probabilities are computed by
    forward-backward. Without `transitions`, all transitions that the scheme allows have the score
    0. ONNX and LiteRT files need no TensorFlow.

        folder/decoder.onnx, decoder.tflite, a SavedModel, or model.onnx if `join` is given
        folder/decoder.json     the tags, the scheme and the types of spans
        folder/README.md        the inputs and outputs

    The inputs are `logits` float32 `[B, T, K]` for K tags, `mask` bool `[B, T]`, True on real
    tokens, and the input that `word_starts` names. The outputs are `tags` int32 `[B, T]` and
    `confidences` float32 `[B, T]`; with a scheme, `spans` int32 `[B, S, 3]` (type, start and
    exclusive end, as in `Tagger.tag`) and `span_confidences` float32 `[B, S]`; and, with
    `num_paths`, `path_tags` int32 `[B, num_paths, T]` and `path_probabilities` float32
    `[B, num_paths]`. A masked token has the tag 0 and the confidence 0. The mask may have holes:
    two real tokens are neighbors if there is no real token between them, and starts and ends of
    spans count the real tokens.

    Args:
        folder: str or path-like. Folder to write, which must be empty or not exist.
        tags: sequence of str. The K tags in the order of their scores.
        scheme: `"bio"`, `"iob1"`, `"bioes"`, `"bilou"` or `"bmes"`. Tag scheme. If `None`, tags
            form no spans and may follow each other in any order. Defaults to `None`.
        transitions: tuple of arrays `(transitions [K, K], start_scores [K], end_scores [K])`, as
            `tfreps.convert.read_transition_scores` returns it. If `None`, all are 0. Defaults to
            `None`.
        format: str. `"onnx"`, `"litert"` or `"saved_model"`. Defaults to `"onnx"`.
        word_starts: str. Name of another input, bool `[B, T]`, which is True on the first piece of
            each word. Only these pieces have tags, and spans count words. If `None`, all tokens of
            the mask have tags. Defaults to `None`.
        num_paths: int. Number of best sequences in `path_tags`. If `None`, the outputs of the
            sequences are left out. Defaults to `None`.
        unused_tags: collection of str. Tags that are never predicted, such as `<PAD>`. They need
            not belong to the scheme. Defaults to `()`.
        probabilities: bool. Whether to compute `confidences`, `span_confidences` and
            `path_probabilities`. Without them, the decoder is smaller and several times as fast for
            short sentences. Defaults to `True`.
        join: str or path-like. ONNX model to which the decoder is joined. The result has the inputs
            of this model, and the outputs of the decoder. If it has a tensor with the name
            `word_starts`, this tensor is used; otherwise, the result has this input, too. If
            `None`, the decoder is written alone. Defaults to `None`.
        logits: str. Name of the tensor of the joined model with the scores. Defaults to `"logits"`.
        mask: str. Name of the tensor of the joined model that is not 0 on real tokens. Defaults to
            `"attention_mask"`.

    Returns:
        named tuple `(folder, file, size, difference)`: the `pathlib.Path` of the folder and of the
        model in it, the size of the model in bytes, and the largest difference that a check found.

    Raises:
        ValueError: If an argument is invalid, a tag does not belong to the scheme, `transitions`
            have the wrong shape or are not finite, a package for the format is not installed, the
            folder is not empty, or the decoder cannot be joined to the model.

    Example:
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> scores = [[0.0, -5.0], [0.0, 0.0]], [0.0, 0.0], [0.0, 0.0]  # B rarely follows A
    >>> written = write_decoder(folder, ["A", "B"], None, scores, "saved_model")
    >>> decode = tf.saved_model.load(folder).signatures["serving_default"]
    >>> logits = tf.constant([[[2.0, 0.0], [0.0, 1.0]]])
    >>> decode(logits=logits, mask=tf.constant([[True, True]]))["tags"].numpy()
    array([[0, 0]], dtype=int32)
    """
    check_choice(FILES, format=format)
    check_integers(1, or_none=True, num_paths=num_paths)
    if word_starts in ("", LOGITS, MASK):
        raise ValueError(
            f"`word_starts` must be the name of another input than {LOGITS} and {MASK}; got "
            f"{word_starts!r}."
        )
    if join is not None and format != "onnx":
        raise ValueError(f"`join` needs the format 'onnx'; got {format!r}.")
    if not is_free(folder):
        raise ValueError(f"{folder} must be an empty folder or not exist. Choose another folder.")
    if format != "saved_model":
        check_packages(format)
    options = transitions, word_starts, num_paths, unused_tags, probabilities
    tagger, model = decoder_model(tags, scheme, *options)
    graph = _concrete(model)
    given = {LOGITS: logits, MASK: mask} | ({word_starts: word_starts} if word_starts else {})
    joined = None if join is None else model_to_join(join, given, len(tags))
    name = FILES[format] if joined is None else JOINED
    with replacing(folder, parents=True) as temporary:
        temporary.mkdir()
        file = temporary / name
        if format == "saved_model":
            function = _saved_model(temporary, tagger, graph)
        else:
            opset = OPSET if joined is None else min(opset_of(joined), OPSET)
            content = convert(format, model, [tagger], opset)
            file.write_bytes(with_short_names(content) if format == "onnx" else content)
            _, function = run.STARTS[DEFAULT_ENGINE[format]](str(file), 1)
        difference = _largest_difference(function, model, graph)
        inputs = _rows(model.specs, num_tags=len(tags))
        if joined is not None:
            file.write_bytes(joined_onnx(joined, file.read_bytes(), list(given)))
            session, _ = run.STARTS[DEFAULT_ENGINE[format]](str(file), 1)
            inputs = "\n".join(
                f"| `{each.name}` | {each.type} | {each.shape} | |" for each in session.get_inputs()
            )
        size = sum(path.stat().st_size for path in temporary.rglob("*") if path.is_file())
        outputs = _rows([n for n in ABOUT if n in graph.structured_outputs], num_paths=num_paths)
        _write_notes(temporary, name, model.about, inputs, outputs)
    folder = pathlib.Path(folder)
    return WrittenDecoder(folder, folder / name, size, difference)


def _saved_model(folder: pathlib.Path, tagger: Tagger, graph: Any) -> Callable[..., Any]:
    """Writes the decoder as a SavedModel, and returns its signature as a function of a dict."""
    module = tf.Module()
    module.tagger = tagger
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
    tf.saved_model.save(module, str(folder), {"serving_default": graph}, options)
    loaded: Any = tf.saved_model.load(str(folder))
    signature = loaded.signatures["serving_default"]
    return lambda inputs: {
        name: value.numpy()
        for name, value in signature(**{k: tf.constant(v) for k, v in inputs.items()}).items()
    }


def _concrete(model: PortableModel) -> Any:
    """Returns the function of a decoder as a graph for batches of all sizes."""
    function = tf.function(lambda **inputs: model.function(inputs), autograph=False)
    return function.get_concrete_function(**model.specs)


def _largest_difference(
    function: Callable[[dict[str, np.ndarray]], Mapping[str, np.ndarray]],
    model: PortableModel,
    graph: Any,
) -> float:
    """Compares a written decoder with its `graph` for random scores and masks with holes.

    Returns the largest difference. Raises a ValueError if it is larger than `CLOSE`.
    """
    random = np.random.default_rng(0)
    largest = 0.0
    for sentences, tokens in SIZES:
        inputs: dict[str, np.ndarray] = {
            name: random.random([sentences, tokens]) < 0.8 for name in model.specs
        }
        scores = random.normal(size=[sentences, tokens, model.specs[LOGITS].shape[-1]])
        inputs[LOGITS] = scores.astype("float32")
        found = function(inputs)
        for name, value in graph(**{name: tf.constant(x) for name, x in inputs.items()}).items():
            expected = value.numpy()
            # Only the written decoder may return padding for a batch without spans.
            own = found[name][:, : expected.shape[1]] if name.startswith("span") else found[name]
            texts = [f"sentence {number + 1} of random scores" for number in range(sentences)]
            difference = check_output(f"the output {name!r}", own, expected, CLOSE, texts)
            largest = max(largest, difference)
    return largest


def _write_notes(
    folder: pathlib.Path, name: str, about: dict[str, Any], inputs: str, outputs: str
) -> None:
    """Writes decoder.json and README.md. `inputs` and `outputs` are the rows of tables."""
    write_json(folder / "decoder.json", about, ensure_ascii=False)
    tables = [("input", inputs), ("output", outputs)]
    scheme = about["scheme"]
    text = README.format(
        file=name,
        constraint=f"and spans that the scheme {scheme!r} allows" if scheme else "of a sentence",
        tables="\n\n".join(TABLE.format(title=title, rows=rows) for title, rows in tables),
    )
    (folder / "README.md").write_text(text, encoding="utf-8")


def _rows(names: Collection[str], **sizes: Any) -> str:
    """Returns the rows of a table of inputs or outputs."""
    rows = ((f"`{name}`", *ABOUT.get(name, WORD_STARTS)) for name in names)
    return "\n".join("| " + " | ".join(row).format(**sizes) + " |" for row in rows)
