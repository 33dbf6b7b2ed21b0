"""tfreps.load opens exports for ONNX Runtime and LiteRT."""

import importlib.util
import json
import subprocess
import sys

import numpy as np
import pytest

import tfreps
from tests.closeness import assert_close
from tests.exported_models import MAKERS, WORDS, make_bert, make_trained
from tfreps._src.export.portable.portable_export import _write
from tfreps._src.export.portable_model import portable_model
from tfreps._src.inference import run
from tfreps.export import open_for_export, write_export, write_portable_export
from tfreps.inference import (
    ExportedBert,
    ExportedBiLM,
    ExportedClassifier,
    ExportedEmbedder,
    ExportedTagger,
    TextBert,
    TextBiLM,
    TextClassifier,
    TextEmbedder,
    TextTagger,
)
from tfreps.models import HMMTagger
from tfreps.text import TokenIndexer

TAGS = ["O", "B-PER", "I-PER"]
RANDOM = np.random.default_rng(0)


def texts(count, longest=40):
    words = [*WORDS, "unseen", "Ada's", "两"]
    return [
        "",
        *(" ".join(RANDOM.choice(words, RANDOM.integers(1, longest))) for _ in range(count)),
    ]


@pytest.fixture
def tagger(tmp_path, monkeypatch):
    """Export of a tagger without a runtime: a function in its place tags the first two tokens."""
    indexer = TokenIndexer.from_sentences([WORDS])
    hmm = TextTagger(HMMTagger(indexer.vocabulary_size, TAGS, "bio"), indexer)
    folder = tmp_path / "ner" / "3"
    folder.mkdir(parents=True)
    _write(folder, "onnx", portable_model(open_for_export(hmm)), b"")
    sizes = []

    def function(inputs):
        mask = inputs["mask"]
        sizes.append(mask.shape)
        two = [[0, 2 * (row.sum() > 1)] for row in mask]  # start and end
        return {
            "tags": np.where(mask, [1, 2, *[0] * 2000][: mask.shape[1]], 0),
            "confidences": np.where(mask, 0.5, 0.0),
            "span_types": np.zeros([len(mask), 1], int),
            "span_starts": np.array([[start] for start, _ in two]),
            "span_ends": np.array([[end] for _, end in two]),
            "span_confidences": np.full([len(mask), 1], 0.25),
        }

    monkeypatch.setitem(run.STARTS, "onnxruntime", lambda *given: (given, function))
    return folder.parent, sizes


def test_an_export_without_its_engine(tagger):
    """The newest version of a folder opens; batches have texts of similar length."""
    folder, sizes = tagger
    pytest.importorskip("onnxruntime")
    found = tfreps.load(folder, num_threads=2)
    assert isinstance(found, ExportedTagger) and (found.names, found.scheme) == (TAGS, "bio")
    path, threads = found.model
    assert path.endswith("model.onnx") and threads == 2 and found.run is None
    [span] = found(" Ada  lives here").spans
    assert tuple(span) == ("PER", 0, 2, "Ada  lives", 0.25, 1, 11)
    sizes.clear()
    given = ["Ada " * 600, "", "Ada", ["Ada", "lives"], "Ada " * 600]
    answers = found.tag(given)
    assert [len(answer.tokens) for answer in answers] == [600, 0, 1, 2, 600]
    assert sizes == [(3, 2), (1, 600), (1, 600)]
    assert answers[3].text is None and answers[3].spans[0].text == "Ada lives"
    assert answers[3].tags == ["B-PER", "I-PER"] and found.tokenize(["a b"]) == [["a", "b"]]
    with pytest.raises(ValueError, match="`texts` must be a list"):
        found.tag("Ada")


def test_what_an_export_does_not_contain(tagger):
    folder, _ = tagger
    pytest.importorskip("onnxruntime")
    found = tfreps.load(folder / "3")
    with pytest.raises(
        AttributeError, match="`stream` needs the Keras model, which the export .*3"
    ):
        found.stream()
    with pytest.raises(AttributeError, match="no attribute 'streams'"):
        _ = found.streams


def test_options_that_do_not_apply(tagger):
    folder, _ = tagger
    pytest.importorskip("onnxruntime")
    engines = (
        "`engine` must be 'onnxruntime' or 'openvino', or None, for the export .*; got 'litert'"
    )
    cases = {
        engines: {"engine": "litert"},
        "`engine` must be 'onnxruntime' or .*; got 'tensorflow'": {"engine": "tensorflow"},
        "`scheme` does not apply to .*ner, which is an export": {"scheme": "bio"},
        "`num_threads` must be at least 1, or None; got 0": {"num_threads": 0},
    }
    for message, options in cases.items():
        with pytest.raises(ValueError, match=message):
            tfreps.load(folder, **options)
    about = json.loads((folder / "3" / "model.json").read_text())
    changes = {"kind": "crf"}, {"kind": []}, {"file": "../model.onnx"}, {"engines": "onnxruntime"}
    for change in {"format": "tf"}, {"format": []}, {"engines": []}, {"engines": [{}]}, *changes:
        (folder / "3" / "model.json").write_text(json.dumps({**about, **change}))
        with pytest.raises(ValueError, match="was not written by this version of tfreps"):
            tfreps.load(folder)
    (folder / "3" / "model.onnx").unlink()  # a model.json alone is not an export
    with pytest.raises(ValueError, match="contains no model that can be loaded"):
        tfreps.load(folder / "3")
    with pytest.raises(
        ValueError, match="`engine` must be one of 'onnxruntime', .*got 'tensorflow'"
    ):
        tfreps.load("nowhere", engine="tensorflow")
    with pytest.raises(
        ValueError, match="`num_threads` does not apply to nowhere, which TensorFlow runs"
    ):
        tfreps.load("nowhere", num_threads=2)


def test_a_runtime_that_is_not_installed(tagger, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(
        ValueError, match="'onnxruntime' needs onnxruntime.* Run: pip install onnxruntime"
    ):
        tfreps.load(tagger[0])


MODULES = {"onnx": "onnxruntime", "litert": "ai_edge_litert"}
KINDS = {
    TextTagger: ExportedTagger,
    TextClassifier: ExportedClassifier,
    TextEmbedder: ExportedEmbedder,
    TextBert: ExportedBert,
    TextBiLM: ExportedBiLM,
}
PORTABLE = [*sorted(MAKERS.keys() - {"ManyLangsBiLM"}), "bert_pieces", "bert_characters"]


def make(kind):
    if kind in MAKERS:
        return MAKERS[kind]()
    return make_bert(kind[5:]) if kind.startswith("bert_") else make_trained(kind)


@pytest.mark.slow
@pytest.mark.parametrize("format", ["onnx", "litert", "saved_model"])
@pytest.mark.parametrize("kind", PORTABLE)
def test_exports_equal_models(kind, format, tmp_path):
    pytest.importorskip(MODULES.get(format, "tensorflow"))
    model = make(kind)
    if format == "saved_model":
        write_export(open_for_export(model), tmp_path / "model")
    else:
        write_portable_export(open_for_export(model), tmp_path / "model", format)
    is_bert = kind == "PieceEncoder" or kind.startswith("bert_")
    given = texts(100 if format == "saved_model" else 1000, 12 if is_bert else 40)
    expected, alone = model(given), model(given[3:4])
    engines = [None]
    if format == "onnx" and importlib.util.find_spec("openvino"):
        if kind == "LinearEncoder":  # OpenVINO computes other hashes
            with pytest.raises(ValueError, match="OpenVINO would compute the hashes"):
                tfreps.load(tmp_path / "model", engine="openvino")
        else:
            engines.append("openvino")
    for engine in engines:
        found = tfreps.load(tmp_path / "model", engine=engine)
        assert type(found) is KINDS[type(model)]
        compare(found(given), expected)
        compare(found(given[3:4]), alone)


@pytest.mark.slow
def test_saved_models_read_tokens_and_refuse_options(tmp_path):
    model = make("crf")
    write_export(open_for_export(model), tmp_path / "model")
    found = tfreps.load(tmp_path / "model")
    given = [["Ada", "lives"], "in London", [], "", ["Ada"] * 9]
    compare(found.tag(given), model.tag(given))
    assert (found.names, found.scheme, found.temperature) == (TAGS[:1] + found.names[1:], "bio", 1)
    for option in {"engine": "onnxruntime"}, {"num_threads": 2}:
        message = f"`{next(iter(option))}` does not apply to .*model, which is a SavedModel"
        with pytest.raises(ValueError, match=message):
            tfreps.load(tmp_path / "model", **option)


@pytest.mark.slow
def test_a_model_in_another_engine(tmp_path):
    pytest.importorskip("onnxruntime")
    model = make("hmm")
    model.save_to_preset(tmp_path / "model")
    found = tfreps.load(tmp_path / "model", engine="onnxruntime", num_threads=1)
    assert type(found) is ExportedTagger and found.source == tmp_path / "model"
    given = texts(9)
    compare(found(given), model(given))


def compare(found, expected):
    """Compares outputs. Texts, tags, labels and places are equal, and numbers are close."""
    if hasattr(expected, "vectors"):
        assert found.texts == expected.texts
        assert_close(found.vectors, expected.vectors, terms=4096)
        return
    for one, other in zip(found, expected, strict=True):
        one, other = one.asdict(), other.asdict()
        assert one.keys() == other.keys()
        for name in {"confidences", "confidence", "vectors", "pooled"} & other.keys():
            assert_close(one.pop(name), other.pop(name), terms=4096)
        if "probabilities" in other:
            shares = [list(each.pop("probabilities").values()) for each in (one, other)]
            assert_close(*shares, terms=4096)
        for span, own in zip(one.get("spans", []), other.get("spans", []), strict=True):
            assert_close(span.pop("confidence"), own.pop("confidence"), terms=4096)
        assert one == other


@pytest.mark.slow
def test_tensorflow_is_not_imported(tmp_path):
    pytest.importorskip("onnxruntime")
    written = write_portable_export(open_for_export(make_trained("hmm")), tmp_path / "model")
    program = (
        "import sys, tfreps; print(tfreps.load(sys.argv[1])('Ada lives').tags); "
        "assert not {'tensorflow', 'keras'} & set(sys.modules)"
    )
    command = [sys.executable, "-c", program, str(written.folder.parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{make_trained('hmm')('Ada lives').tags}\n"
