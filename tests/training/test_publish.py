"""Tests `tfreps publish`, and every command with every kind of source of a model."""

import itertools
import os
import pathlib
import zipfile

import numpy as np
import pytest

import tfreps
from tests import tiny_bert
from tfreps._src.cli import commands as command
from tfreps.inference import TextBiLM, TextTagger
from tfreps.models import BiLM, Tagger, TokenEmbedder
from tfreps.text import TokenIndexer, Vocabulary


@pytest.fixture
def run(tmp_path):
    published("tagger", tmp_path / "run")
    return str(tmp_path / "run")


def test_a_folder_and_an_address(hub, run, tmp_path, capsys):
    assert command.main(["publish", run, str(tmp_path / "mine")]) == 0
    assert (
        f"Wrote {tmp_path / 'mine'}: README.md, config.json, manifest.json,"
        in capsys.readouterr().out
    )
    given = ["publish", run, "hf://me/tagger", "--private", "--message", "More data"]
    assert command.main(given) == 0
    printed = capsys.readouterr().out
    assert "/me/tagger/commit/" in printed and 'tfreps.load("hf://me/tagger")' in printed
    theirs, ours = tfreps.load("hf://me/tagger"), tfreps.load(run)
    assert theirs.names == ours.names and theirs.tokenize(["Ada"]) == [["Ada"]]
    for one, other in zip(theirs.model.get_weights(), ours.model.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["absent", "out"], "absent does not exist"),
        (["RUN", "hf://me"], "must have the form hf://owner/repository"),
        (["RUN", "gs://bucket/x"], "TARGET must be hf://owner/repository"),
        (["RUN", "RUN"], "TARGET must be hf://owner/repository"),
        (["RUN", "out", "--private"], "--private applies only to an upload"),
        (["RUN", "out", "--message", "x"], "--message applies only to an upload"),
    ],
)
def test_refusals(run, tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    before = sorted(os.listdir())
    arguments = [run if a == "RUN" else a for a in arguments]
    assert command.main(["publish", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert sorted(os.listdir()) == before


# Sources of models and files that commands read, as functions of a local folder.
def on_the_hub(hub, folder):
    hub.add("someone/model", {path.name: path.read_bytes() for path in folder.iterdir()})
    return "hf://someone/model"


def archive(hub, folder):
    path = folder.with_suffix(".zip")
    with zipfile.ZipFile(path, "w") as file:
        for each in folder.iterdir():
            file.write(each, each.name)
    return str(path)


def at_a_url(hub, folder):
    hub.files["model.zip"] = pathlib.Path(archive(hub, folder)).read_bytes()
    return f"{hub.url}/files/model.zip"


SOURCES = {"folder": lambda hub, folder: str(folder), "hub": on_the_hub, "zip": archive,
           "url": at_a_url}  # fmt: skip


def published(name, folder):
    """Writes a published tagger, biLM ("elmo", without a vocabulary) or BERT model."""
    if name == "tagger":
        indexer = TokenIndexer.from_sentences([["Ada", "lives"]])
        embedder = TokenEmbedder(indexer.vocabulary_size, 4)
        model = Tagger(embedder, ["O", "X"], use_crf=False)
        TextTagger(model, indexer).save_to_preset(folder)
    elif name == "bert":
        run = folder.parent / "bert_run"
        path, _ = tiny_bert.write_run(run, tiny_bert.pieces("ada", "lives"))
        tfreps.load(path).save_to_preset(folder)
    else:
        bilm = BiLM(filters=[[1, 8]], units=8, projection_dim=4, max_characters=20)
        words = Vocabulary(["<S>", "</S>", "<UNK>", "Ada", "lives"])
        if name == "elmo":
            bilm.save_pretrained(folder)
        else:
            TextBiLM(bilm, words).save_to_preset(folder)


# Each command, with MODEL in place of the source and OUT in place of the output.
PROGRAMS = {
    "tag": ("tagger", "tag MODEL text.txt --output OUT"),
    "evaluate": ("tagger", "evaluate MODEL --data data.conll --output OUT"),
    "publish": ("tagger", "publish MODEL OUT"),
    "embed": ("elmo", "embed MODEL text.txt --output OUT"),
    "embed, preset": ("bilm", "embed MODEL text.txt --output OUT"),
    "export": ("elmo", "export MODEL --output OUT"),
    "convert": ("elmo", "convert MODEL --output OUT"),
    "plot": ("bert", "plot attention MODEL --text ada --output OUT.png"),
    "train-tagger, --elmo": (
        "elmo",
        "train-tagger --train data.conll --scheme none --elmo MODEL --units 4 --epochs 1 --run OUT",
    ),
    "train-classifier, --bert": (
        "bert",
        "train-classifier --train texts.tsv --encoder bert --bert MODEL --epochs 1 --run OUT",
    ),
    "pretrain-elmo, --init": (
        "elmo",
        "pretrain-elmo --train text.txt --vocabulary vocabulary.txt --init MODEL --steps 1 "
        "--batch-size 1 --unroll-steps 2 --run OUT",
    ),
    "pretrain-bert, --init": (
        "bert",
        "pretrain-bert --train texts.txt --init MODEL --max-length 24 --epochs 1 --run OUT",
    ),
}


# Every kind of source with one command; slow tests combine all commands with all kinds.
QUICK = {("tag", "hub"), ("publish", "url"), ("publish", "zip")}
CASES = [
    pytest.param(*case, marks=[] if case in QUICK else pytest.mark.slow)
    for case in itertools.product(PROGRAMS, SOURCES)
]


@pytest.mark.few(1)
@pytest.mark.parametrize("program, source", CASES)
def test_every_program_with_every_kind_of_source(
    program, source, hub, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("Ada lives\n" * 20)
    (tmp_path / "texts.txt").write_text("ada lives\nlives ada\n\nada\nlives\n" * 5)
    (tmp_path / "data.conll").write_text("Ada X\nlives O\n\n" * 4)
    (tmp_path / "texts.tsv").write_text("good\tada lives\nbad\tlives\n" * 4)
    (tmp_path / "vocabulary.txt").write_text("<S>\n</S>\n<UNK>\nAda\nlives\n")
    model, line = PROGRAMS[program]
    published(model, tmp_path / model)
    given = SOURCES[source](hub, tmp_path / model)
    argv = [given if word == "MODEL" else word.replace("OUT", "out") for word in line.split()]
    assert command.main(argv) == 0, capsys.readouterr().err
    assert list(tmp_path.glob("out*"))
