"""Tests the texts and the trainings of benchmarks.pretraining, each of which runs once."""

import json
import pathlib

import pytest

from benchmarks import pretraining, trainings
from benchmarks.pretraining import PARTS


def test_reviews_are_cut_mixed_and_a_hundredth_held_out(tmp_path):
    folder, output = tmp_path / "fdu_mtl", tmp_path / "inputs"
    folder.mkdir()
    output.mkdir()
    lines = [f"It's the {number}th, really!" for number in range(150)]
    (folder / "baby.task.unlabel").write_text("\n".join(lines[:120]) + "\n\n", encoding="utf-8")
    (folder / "MR.task.unlabel").write_bytes("\n".join([*lines[120:], "Café"]).encode("latin-1"))
    pretraining.review_texts(tmp_path, output)
    train, held_out = (
        (output / f"{part}.txt").read_text(encoding="utf-8").split("\n")[:-1]
        for part in ("train", "validation")
    )
    assert (len(train), len(held_out)) == (150, 1)
    expected = [f"it ' s the {number}th , really !" for number in range(150)] + ["café"]
    assert sorted(train + held_out) == sorted(expected) and train != expected[:150]
    documents = (output / "bert.txt").read_text(encoding="utf-8")
    assert documents == "".join(f"{line}\n\n" for line in train)


def data_sets(folder):
    """Writes minimal data sets."""
    for name in ("hotel_reviews", "resume_ner", "fdu_mtl"):
        (folder / name).mkdir()
    lines = [str({"text": text, "label": 1}) for text in ("房间 好。\n很好", "差")]
    (folder / "hotel_reviews/train_sentiment.txt").write_text("\n".join(lines), encoding="utf-8")
    columns = "高 B-NAME\n勇 E-NAME\n\nP O\n8 O\n"
    (folder / "resume_ner/train.char.bmes").write_text(columns, encoding="utf-8")
    (folder / "fdu_mtl/baby.task.unlabel").write_text("good\n", encoding="utf-8")


BERTS = "bert-32", "bert", "bert3-32", "bert3"


@pytest.mark.parametrize("table", pretraining.TABLES)
def test_what_is_there_stays(table, tmp_path, monkeypatch):
    data_sets(tmp_path)
    inputs = tmp_path / f"{table}-inputs"
    domains = *pretraining.DOMAINS, "all"
    names = ["train.txt", "bert.txt", "vectors.txt", "vocabulary.txt"]
    names += [f"{d}.{part}.{e}" for d in domains for part in PARTS for e in ("hdf5", "tsv")]
    names += [f"{model}/results.json" for model in ("elmo", *BERTS)]
    for name in names:
        (inputs / name).parent.mkdir(exist_ok=True, parents=True)
        (inputs / name).write_text('{"steps": 3}\n')
    calls = []
    monkeypatch.setattr(pretraining.subprocess, "run", lambda command, **_: calls.append(command))
    flags = ["--data", str(tmp_path), "--runs", str(tmp_path), "--peer-python", "python"]
    assert pretraining.main([table, *flags]) == 0
    assert calls == [] and (inputs / "bert.txt").read_text() == '{"steps": 3}\n'
    (inputs / "bert" / "results.json").write_text('{"training": {}}')  # interrupted
    monkeypatch.setattr(trainings.subprocess, "run", fake_training(calls))
    assert pretraining.main([table, *flags]) == 0
    assert len(calls) == 1 and "--resume" in calls[0]


def fake_training(calls):
    def run(command, **_):
        calls.append(command)
        folder = pathlib.Path(command[command.index("--run") + 1])
        folder.mkdir(exist_ok=True, parents=True)
        (folder / "results.json").write_text(json.dumps({"steps": 1}))

    return run


@pytest.mark.parametrize("table", pretraining.BERTS)
def test_berts_read_short_texts_first(table, tmp_path, monkeypatch):
    data_sets(tmp_path)
    calls = []
    monkeypatch.setattr(trainings.subprocess, "run", fake_training(calls))
    flags = ["--only", "bert", "--data", str(tmp_path), "--runs", str(tmp_path)]
    assert pretraining.main([table, *flags]) == 0
    folder = tmp_path / f"{table}-inputs"
    for short, long in zip(calls[::2], calls[1::2], strict=True):
        assert short[short.index("--max-length") + 1] == "32" and "--init" not in short
        assert long[long.index("--init") + 1] == short[short.index("--run") + 1]
        assert int(long[long.index("--max-length") + 1]) > 32
    names = [pathlib.Path(command[command.index("--run") + 1]).name for command in calls]
    assert names == list(BERTS[: len(names)])
    assert {command[command.index("--train") + 1] for command in calls} == {
        str(folder / "bert.txt")
    }


def test_word_vectors_need_an_environment(tmp_path):
    data_sets(tmp_path)
    with pytest.raises(SystemExit, match="--peer-python"):
        pretraining.main(["hotel_reviews", "--data", str(tmp_path), "--runs", str(tmp_path)])


def test_all_domains_in_one_file(tmp_path):
    folder = tmp_path / "fdu_mtl"
    folder.mkdir()
    for domain in {*pretraining.DOMAINS, "MR"}:
        encoding = "latin-1" if domain in ("MR", "dvd") else "utf-8"
        for part in PARTS:
            lines = f"1\t{domain} café\n\n0\t{domain}\n".encode(encoding)
            (folder / f"{domain}.task.{part}").write_bytes(lines)
    paths = pretraining.all_domains(tmp_path, tmp_path)
    train, test = (paths[part].read_text(encoding="utf-8").splitlines() for part in PARTS)
    assert train[:2] == ["1\tMR café", "0\tMR"] and len(train) == 18
    assert "1\tdvd café" in test and "1\tMR café" not in test and len(test) == 16


def test_texts_as_documents_for_bert(tmp_path):
    data_sets(tmp_path)
    pretraining.hotel_texts(tmp_path, tmp_path)
    assert (tmp_path / "bert.txt").read_text(encoding="utf-8") == "房间 好。 很好\n\n差\n\n"
    assert (tmp_path / "train.txt").read_text(encoding="utf-8") == "房 间 好 。 很 好\n差\n"
    pretraining.resume_texts(tmp_path, tmp_path)
    assert (tmp_path / "bert.txt").read_text(encoding="utf-8") == "高 勇\n\nP 8\n\n"
