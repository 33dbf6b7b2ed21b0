"""Tests decoders against the enumeration of all legal paths, and against plain NumPy."""

import json

import numpy as np
import pytest
import tensorflow as tf

from docs.by_hand import crf
from docs.by_hand.spans import span_log_probability
from tests.closeness import assert_close
from tests.export.decoder import chain_oracle
from tfreps._src.export.decoder import decoder_export
from tfreps._src.export.decoder.decoder_export import _concrete, _largest_difference
from tfreps._src.export.decoder.decoder_model import decoder_model
from tfreps._src.export.portable_model import PortableModel
from tfreps._src.inference import run
from tfreps._src.inference.opening_exports import DEFAULT_ENGINE
from tfreps._src.layers.ops.portable import portable_graph
from tfreps.export import write_decoder

TAGS = {
    None: ["NOUN", "VERB", "ADJ"],
    "bio": ["O", "B-X", "I-X", "B-Y", "I-Y"],
    "iob1": ["I-X", "O", "B-X", "I-Y", "B-Y"],
    "bioes": ["S-X", "B-X", "I-X", "E-X", "O"],
    "bilou": ["O", "B-X", "L-X", "I-X", "U-Y"],
    "bmes": ["B", "M", "E", "S"],
}
FORMATS = "saved_model", "onnx", "litert"
LONG = 1 << 16  # terms of sums over 300 tokens


@pytest.mark.few(1)
@pytest.mark.parametrize("scheme", TAGS)
def test_all_schemes_before_the_conversion(scheme):
    names = TAGS[scheme]
    _, model = decoder_model(names, scheme, random_scores(len(names)), "starts", 4)
    check_enumerated(in_graph(model), names, scheme, random_scores(len(names)), "starts", 4)


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("scheme", TAGS)
def test_all_schemes(scheme, format, tmp_path):
    names = TAGS[scheme]
    if scheme in ("bio", "bmes"):
        function = written(tmp_path, names, scheme, format=format)
        check_enumerated(function, names, scheme)
    else:
        scores = random_scores(len(names))
        options = {"word_starts": "starts", "num_paths": 4}
        function = written(tmp_path, names, scheme, scores, format, **options)
        check_enumerated(function, names, scheme, scores, *options.values())


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_tags_and_spans_without_probabilities(format, tmp_path):
    """The outputs that remain are those of the decoder with probabilities."""
    names, scores = TAGS["bio"], random_scores(5)
    options = {"word_starts": "starts", "num_paths": 3}
    small, full = (
        written(tmp_path / str(kept), names, "bio", scores, format, probabilities=kept, **options)
        for kept in (False, True)
    )
    random = np.random.default_rng(2)
    inputs = {"logits": random.normal(scale=2.0, size=[6, 40, 5]).astype("float32")}
    inputs |= {name: random.random([6, 40]) < 0.8 for name in ("mask", "starts")}
    found, expected = small(inputs), full(inputs)
    assert sorted(found) == ["path_tags", "spans", "tags"]
    for name, value in found.items():
        assert value.any() and value.tolist() == expected[name].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("num_tags", [1, 2, 9, 60])
def test_many_tags_and_long_sentences(num_tags, format, tmp_path):
    """1 to 300 tokens against Viterbi and forward-backward in float64."""
    types = [letter + f"-{number}" for number in range(num_tags // 2) for letter in "BI"]
    names = ["O", *types][:num_tags]
    scores = random_scores(num_tags)
    function = written(tmp_path, names, "bio", scores, format)
    random = np.random.default_rng(num_tags)
    masked = chain_oracle.constrained(names, "bio", scores)
    for length in (1, 2, 17, 300):
        logits = random.normal(scale=2.0, size=[2, length, num_tags]).astype("float32")
        real = np.ones([2, length], bool)
        real[1] = random.random(length) < 0.6
        outputs = function({"logits": logits, "mask": real})
        for row in range(2):
            check_long(
                logits[row][real[row]],
                names,
                masked,
                {k: v[row] for k, v in outputs.items()},
                real[row],
            )


def check_long(emissions, names, scores, found, real):
    """Compares the outputs for one sentence with those of dynamic programming in float64."""
    assert not found["tags"][~real].any() and not found["confidences"][~real].any()
    if not len(emissions):
        return
    emissions = emissions.astype("float64")
    path = found["tags"][real]
    chosen = np.arange(emissions.shape[1]) == path[:, None]
    own = crf.score(path, emissions, *scores)
    # In float32, the scores of two paths of 300 tokens may be equal if they differ by less.
    assert own == pytest.approx(crf.viterbi(emissions, *scores)[1], abs=1e-3)
    shares = crf.marginals(emissions, *scores)[chosen]
    assert_close(found["confidences"][real], shares, terms=LONG, magnitude=1.0)
    spans = zip(found["spans"], found["span_confidences"], strict=True)
    for (kind, start, end), share in list(spans)[:5]:
        if kind >= 0:
            span = names[path[start]][2:], start, end
            log_share = span_log_probability(span, names, emissions, *scores)
            assert_close(share, np.exp(log_share), terms=LONG, magnitude=1.0)


def check_enumerated(function, names, scheme, scores=None, word_starts=None, num_paths=None):
    """Compares the outputs for up to 5 tokens, with holes in the mask, with the enumeration."""
    random = np.random.default_rng(1)
    types = decoder_model(names, scheme)[1].about["span_types"]
    for length in (1, 2, 5):
        logits = random.normal(scale=2.0, size=[4, length, len(names)]).astype("float32")
        mask = random.random([4, length]) < 0.8
        mask[0] = True
        inputs = {"logits": np.where(mask[..., None], logits, np.nan), "mask": mask}
        real = mask
        if word_starts:
            inputs[word_starts] = random.random([4, length]) < 0.8
            real = mask & inputs[word_starts]
        outputs = function(inputs)
        for row in range(4):
            found = {name: value[row] for name, value in outputs.items()}
            expected = chain_oracle.enumerated(names, scheme, logits[row], real[row], scores)
            check_row(found, expected, types, real[row], num_paths)


def check_row(found, expected, types, real, num_paths):
    assert found["tags"].tolist() == expected["tags"].tolist()
    assert_close(found["confidences"], expected["confidences"], magnitude=1.0)
    spans = [
        ((types[kind], start, end), share)
        for (kind, start, end), share in zip(
            found.get("spans", []), found.get("span_confidences", []), strict=True
        )
        if kind >= 0
    ]
    assert [span for span, _ in spans] == [span for span, _ in expected["spans"]]
    for (_, share), (_, wanted) in zip(spans, expected["spans"], strict=True):
        assert_close(share, wanted, magnitude=1.0)
    if num_paths:
        wanted = expected["paths"][:num_paths]
        shares = [share for _, share in wanted] + [0.0] * (num_paths - len(wanted))
        assert_close(found["path_probabilities"], shares, magnitude=1.0)
        for path, (tags, _) in zip(found["path_tags"], wanted, strict=False):
            assert path[real].tolist() == list(tags) and not path[~real].any()


def random_scores(size):
    random = np.random.default_rng(size)
    shapes = [size, size], [size], [size]
    return tuple(random.normal(size=shape).astype("float32") for shape in shapes)


def in_graph(model):
    with portable_graph():  # as in a conversion
        return with_arrays(_concrete(model))


def with_arrays(function):
    """Returns a function of a dict of arrays, for a TensorFlow function of keyword arguments."""

    def run_it(inputs):
        outputs = function(**{name: tf.constant(value) for name, value in inputs.items()})
        return {name: value.numpy() for name, value in outputs.items()}

    return run_it


def written(folder, names, scheme, scores=None, format="onnx", **options):
    """Writes a decoder, and returns a function that runs it."""
    if format != "saved_model":
        pytest.importorskip({"onnx": "tf2onnx", "litert": "ai_edge_litert"}[format])
    result = write_decoder(folder / "decoder", names, scheme, scores, format, **options)
    if format == "saved_model":
        return with_arrays(tf.saved_model.load(str(result.folder)).signatures["serving_default"])
    return run.STARTS[DEFAULT_ENGINE[format]](str(result.file), 1)[1]


def test_unused_tags():
    """The other tags keep their ids, and transitions keep their rows and columns."""
    names, scores = ["A", "<PAD>", "B", "C"], random_scores(4)
    _, model = decoder_model(names, None, scores, unused_tags=["<PAD>"])
    logits = np.random.default_rng(0).normal(size=[1, 3, 4]).astype("float32")
    logits[:, :, 1] = 50.0
    mask = np.array([[True, False, True]])
    found = in_graph(model)({"logits": logits, "mask": mask})
    kept = [0, 2, 3]
    parts = scores[0][np.ix_(kept, kept)], scores[1][kept], scores[2][kept]
    expected = chain_oracle.enumerated(["A", "B", "C"], None, logits[0][:, kept], mask[0], parts)
    best = np.where(mask[0], np.array(kept)[expected["tags"]], 0)
    assert found["tags"][0].tolist() == best.tolist()
    assert_close(found["confidences"][0], expected["confidences"])


def test_files_of_a_decoder(tmp_path, monkeypatch):
    """The description of the inputs and outputs, for a conversion that is replaced."""
    replace_conversion(monkeypatch)
    result = write_decoder(tmp_path / "a" / "decoder", TAGS["bio"], "bio", num_paths=3)
    assert result.file.read_bytes() == b"a decoder" and result.size == 9
    about = json.loads((result.folder / "decoder.json").read_text(encoding="utf-8"))
    assert about == {"tags": TAGS["bio"], "scheme": "bio", "span_types": ["X", "Y"]}
    readme = (result.folder / "README.md").read_text(encoding="utf-8")
    for line in ("`logits` | float32 | [B, T, 5]", "`path_tags` | int32 | [B, 3, T]"):
        assert f"| {line} |" in readme
    result = write_decoder(tmp_path / "plain", ["A"], word_starts="first")
    readme = (result.folder / "README.md").read_text(encoding="utf-8")
    assert "| `first` | bool | [B, T] |" in readme and "span_confidences" not in readme
    options = {"num_paths": 3, "probabilities": False}
    result = write_decoder(tmp_path / "small", TAGS["bio"], "bio", **options)
    readme = (result.folder / "README.md").read_text(encoding="utf-8")
    assert "`path_tags`" in readme and "`spans`" in readme and "probabilit" not in readme


def test_a_conversion_with_other_outputs():
    specs = {"logits": tf.TensorSpec([None, None, 2]), "mask": tf.TensorSpec([None, None], "bool")}

    def function(inputs):
        return {"confidences": tf.where(inputs["mask"], inputs["logits"][..., 0], 0.0)}

    model = PortableModel("decoder", specs, function, dict, [], {})
    graph = _concrete(model)
    assert _largest_difference(in_graph(model), model, graph) == 0.0
    unmasked = model._replace(function=lambda inputs: {"confidences": inputs["logits"][..., 0]})
    with pytest.raises(ValueError, match="'confidences' differs .* 'sentence . of random scores'"):
        _largest_difference(in_graph(unmasked), model, graph)


def replace_conversion(monkeypatch):
    """Replaces the contents of the ONNX file, and the check of its outputs."""
    monkeypatch.setattr(decoder_export, "convert", lambda format, *more: b"a decoder")
    monkeypatch.setattr(decoder_export, "with_short_names", lambda content: content)
    monkeypatch.setattr(decoder_export, "check_packages", lambda format: None)
    monkeypatch.setattr(decoder_export, "_largest_difference", lambda *given: 0.0)
    monkeypatch.setitem(run.STARTS, "onnxruntime", lambda path, threads: (None, None))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"format": "tflite"}, "`format` must be one of onnx, litert, saved_model"),
        ({"num_paths": 0}, "`num_paths` must be at least 1"),
        ({"word_starts": "mask"}, "`word_starts` must be the name of another input"),
        ({"tags": ["O", "X"]}, "the tag 'X' is not valid in the scheme 'bio'"),
        ({"tags": ["O", "O"]}, "'O' is already on line 1"),
        ({"unused_tags": ["PAD"]}, "`unused_tags` must contain some of the 3 tags"),
        ({"unused_tags": ["O", "B-X", "I-X"]}, "but not all"),
        ({"transitions": random_scores(2)}, r"of shape \(3, 3\), because there are 3 tags"),
        ({"transitions": [np.full([3, 3], np.nan), *random_scores(3)[1:]]}, "finite transitions"),
        ({"join": "model.onnx", "format": "litert"}, "`join` needs the format 'onnx'"),
    ],
)
def test_invalid_arguments(options, message, tmp_path):
    given = {"tags": ["O", "B-X", "I-X"], "scheme": "bio", "format": "saved_model", **options}
    with pytest.raises(ValueError, match=message):
        write_decoder(tmp_path / "decoder", **given)
    assert not list(tmp_path.iterdir())


def test_folders_with_files(tmp_path):
    (tmp_path / "mine").write_text("kept")
    with pytest.raises(ValueError, match="must be an empty folder or not exist"):
        write_decoder(tmp_path, ["O"], format="saved_model")
