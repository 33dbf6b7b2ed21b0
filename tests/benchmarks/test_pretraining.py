"""Texts for the pre-training of the tables."""

import pytest

from benchmarks import pretraining
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


@pytest.mark.parametrize("table", ["fdu_mtl", "hotel_reviews"])
def test_what_is_there_stays(table, tmp_path, monkeypatch):
    inputs = tmp_path / f"{table}-inputs"
    inputs.mkdir()
    (inputs / "elmo").mkdir()
    (inputs / "bert").mkdir()
    (tmp_path / "hotel_reviews").mkdir()
    (tmp_path / "hotel_reviews" / "train_sentiment.txt").write_text('{"text": "a", "label": 1}')
    names = ["train.txt", "vectors.txt", "vocabulary.txt", "elmo/model.keras"]
    names += ["bert.txt", "bert/model.keras"]
    domains = *pretraining.DOMAINS, "all"
    names += [f"{d}.{part}.{e}" for d in domains for part in PARTS for e in ("hdf5", "tsv")]
    for name in names:
        (inputs / name).write_text("old\n")
    calls = []
    monkeypatch.setattr(pretraining.subprocess, "run", lambda command, **_: calls.append(command))
    flags = ["--data", str(tmp_path), "--runs", str(tmp_path), "--peer-python", "python"]
    assert pretraining.main([table, *flags]) == 0
    assert calls == []


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


def test_reviews_as_documents_for_bert(tmp_path):
    folder = tmp_path / "hotel_reviews"
    folder.mkdir()
    lines = [str({"text": text, "label": 1}) for text in ("房间 好。\n很好", "差")]
    (folder / "train_sentiment.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    pretraining.hotel_text(tmp_path, tmp_path)
    assert (tmp_path / "bert.txt").read_text(encoding="utf-8") == "房间 好。 很好\n\n差\n\n"
    assert (tmp_path / "train.txt").read_text(encoding="utf-8") == "房 间 好 。 很 好\n差\n"
