"""Tests `tfreps embed`: vectors, formats, resumed files and hostile text."""

import json
import subprocess
import sys

import h5py
import numpy as np
import pytest

from tests import tiny_bert
from tests.closeness import FLOAT16, assert_close
from tests.convert.sentence_transformers_fixture import FOLDER
from tests.tiny_run import VOCABULARY, make_pretrainer, make_run
from tfreps import load
from tfreps._src.cli.commands import import_command, main
from tfreps._src.convert import bilm_tf
from tfreps.data import SequenceBatches, read_tagged
from tfreps.inference import SentenceEncoder
from tfreps.text import TokenIndexer, batch_to_ids

TEXT = """The dog put money in the bank .

a  left  hand
zebra
the bank of the river , the left bank of the river
the dog .
"""
EMBEDDER = FOLDER / "model"
LINES = TEXT.split("\n")[:-1]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("run") / "run")


@pytest.fixture(scope="module")
def embedder():
    return load(EMBEDDER)


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(TEXT.replace("\n", "\r\n").encode())
    return str(path)


def tfreps(*arguments):
    assert main(["embed", *map(str, arguments)]) == 0


def read(path):
    with h5py.File(path) as file:
        index = json.loads(file["sentence_to_index"][0])
        return {number: file[number][()] for number in file if number.isdigit()}, index


def layers_of(bilm, line):
    ids = batch_to_ids([line.split()]) if line.split() else np.zeros([1, 0, 50], np.int32)
    return bilm(ids)["layer_outputs"][0].numpy()


MIX = np.exp([0.1, 0.3, 0.5]) / np.exp([0.1, 0.3, 0.5]).sum() * 1.1


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "flags, combine",
    [
        (
            ["--layers", "mix", "--mix", "0.1,0.3,0.5", "--gamma", "1.1"],
            lambda layers: np.tensordot(MIX, layers, 1),
        ),
        ([], lambda layers: layers),
        (
            ["--layers", "top", "--cache", "0", "--batch-tokens", "12"],
            lambda layers: layers[-1],
        ),
        (["--layers", "average", "--cache", "2"], lambda layers: layers.mean(axis=0)),
    ],
)
def test_layers(run, text, tmp_path, capsys, flags, combine):
    output = tmp_path / "v.hdf5"
    tfreps(run[0], text, "--output", output, *flags)
    # One line has more than 48 bytes, but no token has.
    assert "bytes" not in capsys.readouterr().out and max(map(len, LINES)) > 48
    vectors, index = read(output)
    assert index == {line.strip(): str(number) for number, line in enumerate(LINES)}
    assert len(vectors) == 6 and vectors["0"].dtype == np.float32
    for number, line in enumerate(LINES):
        assert_close(vectors[str(number)], combine(layers_of(run[1].bilm, line)))


@pytest.mark.slow
def test_warm_float16_and_published_files(run, text, tmp_path, capsys):
    bilm, output = run[1].bilm, tmp_path / "v.hdf5"
    files = [str(tmp_path / name) for name in ("options.json", "weights.hdf5")]
    bilm_tf.write_weights(bilm, *files)
    flags = ["--elmo-initial-state", "warm", "--dtype", "float16", "--forget-sentences"]
    tfreps("--elmo-config", files[0], "--elmo-weights", files[1], text, "--output", output, *flags)
    with h5py.File(output) as file:
        assert "sentence_to_index" not in file and file["2"].dtype == np.float16
        expected = layers_of(bilm.with_initial_state("warm"), LINES[2])
        assert_close(file["2"], expected, terms=1, unit=FLOAT16)
    assert f"Wrote {output}: 6 sentences, 27 tokens" in capsys.readouterr().out


CONLL = """\ufeff-DOCSTART- -DOCSTART- O
the DT O
bank NN B-LOC\r

\xa0 NN O
. . O
"""


@pytest.mark.slow
def test_tagged_sentences_are_those_of_training(run, tmp_path):
    text, output = tmp_path / "eng.train", tmp_path / "v.hdf5"
    text.write_text(CONLL, encoding="utf-8")
    tfreps(run[0], text, "--format", "conll", "--output", output, "--layers", "top")
    vectors, index = read(output)
    assert index == {"the bank": "0", "\xa0 .": "1"}
    expected = layers_of(run[1].bilm, "the bank")[-1]
    assert_close(vectors["0"], expected)
    sentences = [sentence.tokens for sentence in read_tagged(text)]
    indexer = TokenIndexer.from_sentences(sentences)
    batches = SequenceBatches(sentences, None, indexer, vectors=output)
    ((features,),) = [tuple(batches.arrays())]
    np.testing.assert_array_equal(features["vectors"][0, 0], vectors["0"])
    with pytest.raises(ValueError, match="sentence 0: the vectors must belong to the tokens of"):
        SequenceBatches(sentences[::-1], None, indexer, vectors=output)
    path = tmp_path / "c.conllu"
    path.write_text("# a comment\n1-2\tx" + "\t_" * 8 + "\n1\tthe bank\tof" + "\t_" * 7 + "\n")
    how = "--format", "conllu", "--output", output, "--overwrite"
    tfreps(run[0], path, *how)
    assert read(output)[0]["0"].shape == (3, 1, 12)
    tfreps(run[0], path, *how, "--token-column", "lemma")
    assert read(output)[1] == {"of": "0"}


KILLED = """
import os, signal, sys
from tfreps._src.cli.commands import import_command, main
from tfreps._src.inference.embeddings_file import EmbeddingsFile

import_command("training.embed").WINDOW = 10
window = EmbeddingsFile.open_window

def killing(self):
    if self.windows == 2:
        (self.part / ".00000002.hdf5.7777777.tmp.hdf5").write_bytes(b"torn")
        os.kill(os.getpid(), signal.SIGKILL)
    return window(self)

EmbeddingsFile.open_window = killing
main(sys.argv[1:])
"""


@pytest.mark.slow
def test_resumes_after_a_kill(run, text, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(import_command("training.embed"), "WINDOW", 10)
    tfreps(run[0], text, "--output", tmp_path / "whole.hdf5")
    output = tmp_path / "v.hdf5"
    command = [sys.executable, "-c", KILLED, "embed", run[0], text, "--output", str(output)]
    assert subprocess.run(command, capture_output=True).returncode == -9
    assert not output.exists() and (tmp_path / "v.hdf5.part").is_dir()

    again = ["embed", run[0], text, "--output", str(output)]
    assert main(again) == 2
    assert "Pass --resume to continue it" in capsys.readouterr().err
    assert main([*again, "--layers", "top", "--resume"]) == 2
    assert "layers 'all'; this call has layers 'top'" in capsys.readouterr().err

    encoded = []
    encode = SentenceEncoder.encode

    def counting(self, sentences):
        encoded.extend(sentences)
        return encode(self, sentences)

    monkeypatch.setattr(SentenceEncoder, "encode", counting)
    tfreps(*again[1:], "--resume", "--batch-tokens", "4096")
    assert [" ".join(tokens) for tokens in encoded] == ["the dog ."]
    whole, resumed = read(tmp_path / "whole.hdf5"), read(output)
    assert whole[1] == resumed[1]
    for number, vectors in whole[0].items():
        np.testing.assert_array_equal(vectors, resumed[0][number])
    assert not (tmp_path / "v.hdf5.part").exists()
    tfreps(*again[1:], "--resume")  # complete: nothing to do
    assert len(encoded) == 1


@pytest.mark.slow
def test_tokens_longer_than_the_bilm_reads(run, tmp_path, capsys):
    """48 bytes are 16 Chinese characters: the rest of a longer token has no effect."""
    text = tmp_path / "text.txt"
    text.write_text("\n".join(["中" * 16, "中" * 17, "a " + "x" * 49]), encoding="utf-8")
    tfreps(run[0], text, "--output", tmp_path / "v.hdf5")
    assert "2 of 4 tokens have more than 48 bytes" in capsys.readouterr().out


@pytest.mark.slow
def test_very_long_lines_and_tokens(tmp_path):
    path, model = make_run(tmp_path / "run", num_layers=1, units=6)
    text, output = tmp_path / "long.txt", tmp_path / "v.hdf5"
    words = [f"w{number % 5000}" for number in range(100_000)]
    text.write_text(" ".join(words) + "\n" + "x" * 10_000_000 + " end\na b\n")
    tfreps(path, text, "--output", output, "--layers", "top")
    with h5py.File(output) as file:
        assert file["0"].shape == (100_000, 12) and file["1"].shape == (2, 12)
        # The effect of a token on later ones decays, so a part of the line has the same vectors
        # far from its ends.
        piece = layers_of(model.bilm, " ".join(words[:300]))[-1]
        assert_close(file["0"][:200, :6], piece[:200, :6])
        assert file["0"][:100] == pytest.approx(piece[:100], rel=1e-3, abs=1e-4)
        piece = layers_of(model.bilm, " ".join(words[-300:]))[-1]
        assert_close(file["0"][-200:, 6:], piece[-200:, 6:])
        assert_close(file["1"], layers_of(model.bilm, "x" * 99 + " end")[-1])


@pytest.mark.parametrize(
    "content, flags, message",
    [
        (None, [], "No such file"),
        ("ein Flügel\nnoch einer\n".encode("latin-1"), [], "line 1: expected UTF-8"),
        (b"good\n" * 300_000 + b"bad \xff\n", [], "line 300001: expected UTF-8"),
        (b"\x89HDF\r\n\x1a\n\0\0\0\0", [], "text.bad, line 3: expected UTF-8 text, found a NUL"),
        (b"one\0two\n", [], "NUL byte"),
        (b"", [], "FILE must contain at least one sentence; "),
        (b"\n\n", ["--format", "conll"], "contains no sentence"),
        (b"the DT\nbank\n", ["--format", "conll"], "line 2: expected 2 columns as in line 1"),
        (
            b"the DT\n",
            ["--format", "conll", "--token-column", "2"],
            "line 1: expected a token in column 2 (counted from 0, or from the end if negative); "
            "got 2 columns: 'the DT'. Change --token-column or --separator",
        ),
        (b"a b\n", ["--token-column", "0"], "--token-column has no effect with --format text"),
        (b"a\n\nb\nc\n", ["--format", "conll", "--max-sentence-tokens", "1"], "text.bad, line 3:"),
        (b"a\na b c\n", ["--max-sentence-tokens", "2"], "text.bad, line 2: the sentence has 3 tok"),
        (b"a b\n", ["--batch-tokens", "0"], "--batch-tokens must be at least 1"),
        (b"a b\n", ["--layers", "mix"], "--mix is missing: weight of each layer"),
        (b"a b\n", ["--mix", "1,2,3"], "--mix has no effect with --layers all; it applies to mix"),
        (b"a b\n", ["--gamma", "2"], "--gamma has no effect with --layers all; it applies to mix"),
        (b"a b\n", ["--layers", "mix", "--mix", "1,2"], "--mix must be 3 finite numbers"),
        (b"a b\n", ["--layers", "mix", "--mix", "1,x,2"], "--mix must be 3 finite numbers"),
        (b"a b\n", ["--layers", "mix", "--mix", "1,nan,2"], "--mix must be 3 finite numbers"),
        (b"a b\n", ["--layers", "mix", "--mix", "1,inf,2"], "--mix must be 3 finite numbers"),
        (
            b"a b\n",
            ["--layers", "mix", "--mix", "1,1,2", "--gamma", "nan"],
            "--gamma must be a fin",
        ),
        (b"a b\n", ["--output", "."], "Cannot write to .: it is a folder"),
        (
            b"a b\n",
            ["--vocabulary", "v.txt"],
            "--vocabulary applies only to a biLM from bilm-tf or AllenNLP, but",
        ),
    ],
)
def test_what_cannot_be(run, tmp_path, capsys, content, flags, message):
    text = tmp_path / "text.bad"
    if content is not None:
        text.write_bytes(content)
    before = sorted(tmp_path.iterdir())
    assert main(["embed", run[0], str(text), "--output", str(tmp_path / "v.hdf5"), *flags]) == 2
    captured = capsys.readouterr()
    assert message in captured.err and len(captured.err.splitlines()) == 1
    assert sorted(tmp_path.iterdir()) == before


WORDS = {"vocabulary_size": len(VOCABULARY)}


@pytest.mark.slow
def test_published_files_of_words(text, tmp_path, capsys):
    bilm, output = make_pretrainer(**WORDS).bilm, tmp_path / "v.hdf5"
    files = [str(tmp_path / name) for name in ("options.json", "weights.hdf5")]
    bilm_tf.write_weights(bilm, *files)
    command = ["--elmo-config", files[0], "--elmo-weights", files[1], text, "--output", str(output)]
    assert main(["embed", *command]) == 2
    assert "this biLM reads token ids" in capsys.readouterr().err
    assert not list(tmp_path.glob("v.hdf5*"))  # no file was started
    VOCABULARY.write(tmp_path / "words.txt")
    tfreps(*command, "--vocabulary", tmp_path / "words.txt")
    expected = bilm(np.array([VOCABULARY.tokens_to_ids(LINES[2].split())]) + 1)["layer_outputs"][0]
    assert_close(read(output)[0]["2"], expected)


@pytest.mark.few(1)
@pytest.mark.parametrize("name, dtype", [("v.hdf5", "float16"), ("v.npy", "float32")])
def test_one_vector_per_text(embedder, tmp_path, capsys, name, dtype):
    """The model is the fixture in the format of sentence-transformers, with its default prompt."""
    path, output = tmp_path / "texts.txt", tmp_path / name
    path.write_text("\n".join(["the hotel", "", "the dogs " * 30]), encoding="utf-8")
    tfreps(EMBEDDER, path, "--output", output, "--dtype", dtype)
    printed = capsys.readouterr().out
    assert "3 vectors of 4 numbers" in printed and "1 texts were truncated to 12" in printed
    found = np.load(output) if name == "v.npy" else h5py.File(output)["vectors"][()]
    assert found.dtype == dtype
    expected = embedder(["the hotel", "", "the dogs " * 30]).vectors
    assert_close(found, expected, **({} if dtype == "float32" else {"unit": FLOAT16}))


@pytest.mark.slow
def test_a_prompt(embedder, tmp_path):
    path, output = tmp_path / "texts.txt", tmp_path / "v.npy"
    path.write_text("the hotel\ndogs")
    tfreps(EMBEDDER, path, "--output", output, "--prompt", "document")
    assert_close(np.load(output), embedder(["the hotel", "dogs"], "document").vectors)
    assert np.abs(np.load(output) - embedder(["the hotel", "dogs"]).vectors).max() > 0.01


def test_options_of_a_bilm_do_not_apply_to_a_text_embedder(tmp_path, capsys):
    (tmp_path / "texts.txt").write_text("the hotel")
    (tmp_path / "none.txt").write_text("")
    for words, message in [
        (["texts.txt", "--output", "v.npy", "--layers", "top"], "--layers does not apply to"),
        (["texts.txt", "--output", "v.txt"], "must end in .npy, .hdf5, .h5; got"),
        (["none.txt", "--output", "v.npy"], "FILE must contain at least one line; "),
    ]:
        words = [str(tmp_path / word) if "." in word else word for word in words]
        assert main(["embed", str(EMBEDDER), *words]) == 2
        assert message in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["none.txt", "texts.txt"]


@pytest.mark.slow
def test_vectors_of_pieces(tmp_path, capsys):
    cut = tiny_bert.pieces("the", "hotel", "dogs")
    folder, _ = tiny_bert.write_checkpoint(tmp_path / "bert", cut)
    text, output = tmp_path / "texts.txt", tmp_path / "vectors.hdf5"
    lines = ["the hotel", "", "dogs the dogs"]
    text.write_text("\n".join(lines))
    tfreps(folder, text, "--output", output)
    assert "3 texts, 5 words" in capsys.readouterr().out
    found, index = read(output)
    assert index == {line: str(number) for number, line in enumerate(lines)}
    for number, expected in enumerate(load(folder).encode(lines)):
        assert_close(found[str(number)], expected.vectors)
    assert found["0"].shape == (5, 16)  # [CLS], the, hote, ##l and [SEP]
    tfreps(folder, text, "--output", output, "--resume")
    assert main(["embed", str(folder), str(text), "--output", "x.hdf5", "--layers", "top"]) == 2
    assert "--layers does not apply to" in capsys.readouterr().err
    assert main(["embed", str(folder), str(text), "--output", str(tmp_path / "x.npy")]) == 2
    assert "--output must be an HDF5 file (.hdf5) for " in capsys.readouterr().err
    assert not (tmp_path / "x.npy").exists()
