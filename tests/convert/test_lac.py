"""LAC against ONNX Runtime and against all sequences of tags."""

import itertools
import shutil

import numpy as np
import pytest

import tfreps
from docs.by_hand import crf
from tests.closeness import assert_close
from tests.convert.lac_fixture import original_emissions, write_lac
from tfreps.__main__ import main
from tfreps.models import Tagger

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
NAMES = ["B-n", "I-n", "B-PER", "I-PER", "B-w", "O"]
TEXTS = ["你好Ａ A1國1", "1", "", "x𠮷▁\u3000你", "國国 a"]


@pytest.fixture(scope="module")
def lac(tmp_path_factory):
    """Returns the folder of the model, and its transitions between the tags with names."""
    folder = tmp_path_factory.mktemp("lac")
    transitions = write_lac(folder)
    return folder, transitions[: len(NAMES), : len(NAMES)]


def best(emissions, transitions, is_legal):
    """Returns the best of all sequences of tags for which `is_legal` is true."""
    nothing = np.zeros(len(NAMES))
    paths = crf.all_scores(emissions, transitions, nothing, nothing)
    return [NAMES[tag] for tag in max(filter(is_legal, paths), key=paths.get)]


def is_bio(tags):
    before = ["O", *(NAMES[tag] for tag in tags)]
    pairs = itertools.pairwise(before)
    return all(now[0] != "I" or last in (now, f"B{now[1:]}") for last, now in pairs)


def test_emissions_are_those_of_the_original(lac):
    loaded = tfreps.load(lac[0])
    assert loaded.names == NAMES and loaded.scheme == "bio"
    for text in TEXTS[:2] + TEXTS[3:]:
        features = loaded.indexer(np.array(loaded.tokenize([text])))
        found = loaded.model(features)["emissions"][0]
        assert_close(found, original_emissions(lac[0], text)[:, : len(NAMES)])


@pytest.mark.parametrize("scheme", [None, "none"])
def test_tags_are_the_best_of_all(lac, scheme):
    loaded = tfreps.load(lac[0], scheme=scheme)
    short = [text[:6] for text in TEXTS]
    for text, found in zip(short, loaded.tag(short), strict=True):
        emissions = original_emissions(lac[0], text)[:, : len(NAMES)] if text else np.empty([0, 6])
        assert found.tags == best(emissions, lac[1], is_bio if scheme is None else lambda _: True)
        assert [token if token != "▁" else " " for token in found.tokens] == [
            " " if c in " ▁\u3000" else c for c in text
        ]
        if scheme is None:
            joined = "".join(span.text for span in found.spans)
            outside = sum(tag == "O" for tag in found.tags)
            assert len(joined) == len(text) - outside


def test_it_is_saved_and_read_as_a_tagger(lac, tmp_path):
    loaded = tfreps.load(lac[0])
    loaded.save_to_preset(tmp_path / "saved")
    again = tfreps.load(tmp_path / "saved")
    for one, other in zip(loaded.tag(TEXTS), again.tag(TEXTS), strict=True):
        assert one.tokens == other.tokens and one.spans == other.spans
    assert_close(Tagger.from_preset(lac[0]).kernel, loaded.model.kernel)


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("tag.dic", b"0 n-B\n", "tag.dic, line 1: expected two parts and a tab; got '0 n-B'"),
        ("tag.dic", b"", "tag.dic must contain at least one tag"),
        ("tag.dic", b"9" * 5000 + b"\tn-B\n", "tag.dic: an id must be a number below"),
        ("tag.dic", b"x\tn-B\n", "tag.dic: an id must be a number below 10,000,000; got 'x'"),
        ("tag.dic", b"9\tn-B\n", "tag.dic contains an id that the arrays do not have"),
        ("word.dic", b"0\ta\n", "word.dic must contain the entry OOV, but does not"),
        ("word.dic", b"0\ta\n1\tOOV\n", r"embeddings: expected \(2, 6\), got \(9, 6\)"),
        ("lac_encoder.onnx", b"x", "is not the encoder of LAC, or it is damaged"),
        ("lac_crf_transitions.npy", b"x", "cannot be read as an array of NumPy"),
        ("q2b.dic", None, "q2b.dic"),
    ],
)
def test_damaged_files(lac, tmp_path, name, content, message):
    folder = tmp_path / "lac"
    shutil.copytree(lac[0], folder)
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        tfreps.load(folder)


def test_an_onnx_model_of_another_form(lac, tmp_path):
    import onnx

    shutil.copytree(lac[0], tmp_path / "lac")
    path = tmp_path / "lac" / "lac_encoder.onnx"
    model = onnx.load(path)
    kept = [node for node in model.graph.node if node.op_type != "Gather"]
    del model.graph.node[:]
    model.graph.node.extend(kept)
    onnx.save(model, path)
    with pytest.raises(ValueError, match="damaged: it lacks the arrays embeddings. Install"):
        tfreps.load(tmp_path / "lac")


def test_weights_that_are_not_finite(lac, tmp_path):
    shutil.copytree(lac[0], tmp_path / "lac")
    transitions = np.load(lac[0] / "lac_crf_transitions.npy")
    np.save(tmp_path / "lac" / "lac_crf_transitions.npy", np.full_like(transitions, np.nan))
    with pytest.raises(ValueError, match="array transitions"):
        tfreps.load(tmp_path / "lac")


def test_it_needs_no_conversion(lac, tmp_path, capsys):
    assert main(["convert", str(lac[0]), "--output", str(tmp_path / "run")]) == 2
    assert "needs no conversion. Pass its name or folder to tfreps tag" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_another_scheme(lac):
    with pytest.raises(ValueError, match="`scheme` must be one of bio, none, or None"):
        tfreps.load(lac[0], scheme="bioes")
