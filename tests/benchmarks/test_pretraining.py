"""Texts for the pre-training of the tables."""

import pytest

from benchmarks import pretraining


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
    names = ["train.txt", "vectors.txt", "vocabulary.txt", "elmo/model.keras"]
    names += [f"{d}.{part}.hdf5" for d in pretraining.DOMAINS for part in ("train", "test")]
    for name in names:
        (inputs / name).write_text("old\n")
    calls = []
    monkeypatch.setattr(pretraining.subprocess, "run", lambda command, **_: calls.append(command))
    flags = ["--data", str(tmp_path), "--runs", str(tmp_path), "--peer-python", "python"]
    assert pretraining.main([table, *flags]) == 0
    assert calls == []
