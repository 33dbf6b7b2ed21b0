"""Tests the baselines on texts whose labels follow from one word."""

import json

import pytest

from benchmarks import floors

pytest.importorskip("sklearn", reason="the floors are scikit-learn's")
WORDS = {"1": "good fine great", "0": "bad poor dull"}


def texts(number):
    return [
        (str(n % 2), f"it is {WORDS[str(n % 2)].split()[n % 3]} , room {n % 7}")
        for n in range(number)
    ]


def test_fdu_mtl_is_averaged_over_domains(tmp_path, capsys):
    folder = tmp_path / "fdu_mtl"
    folder.mkdir()
    for domain in floors.DOMAINS:
        for part, number in (("train", 60), ("test", 30)):
            lines = [f"{label}\t{text}\n" for label, text in texts(number)]
            if domain == "baby" and part == "test":  # a third of its answers are wrong
                lines = [
                    f"{1 - int(x[0])}{x[1:]}" if n % 3 == 0 else x for n, x in enumerate(lines)
                ]
            (folder / f"{domain}.task.{part}").write_text("".join(lines))
    assert floors.main(["fdu_mtl", "--data", str(tmp_path)]) == 0
    results = json.loads(capsys.readouterr().out)
    for accuracies in results.values():
        assert accuracies["apparel"] == 1.0 and accuracies["baby"] == 0.6667
        assert accuracies["mean"] == pytest.approx((7 + 0.6667) / 8, abs=1e-4)


def test_one_model_for_all_domains(tmp_path, capsys):
    """A word is positive in one domain and negative in another, which one model cannot learn."""
    folder = tmp_path / "fdu_mtl"
    folder.mkdir()
    for number, domain in enumerate(floors.DOMAINS):
        lines = [f"{n % 2}\tgood{(number + n % 2) % 9} it is {n}\n" for n in range(40)]
        (folder / f"{domain}.task.train").write_text("".join(lines[:20]))
        (folder / f"{domain}.task.test").write_text("".join(lines[20:]))
    line = ["fdu_mtl", "--data", str(tmp_path)]
    assert floors.main(line) == 0
    alone = json.loads(capsys.readouterr().out)["logistic regression"]["mean"]
    assert floors.main([*line, "--together"]) == 0
    together = json.loads(capsys.readouterr().out)["logistic regression"]["mean"]
    assert alone == 1.0 and together < 0.9


def test_hotel_reviews(tmp_path, capsys):
    folder = tmp_path / "hotel_reviews"
    folder.mkdir()
    for part, number in (("train", 60), ("test", 30)):
        lines = [str({"text": text, "label": int(label)}) for label, text in texts(number)]
        (folder / f"{part}_sentiment.txt").write_text("\r\n".join(lines))
    assert floors.main(["hotel_reviews", "--data", str(tmp_path)]) == 0
    results = json.loads(capsys.readouterr().out)
    assert results["naive Bayes"] == results["logistic regression"] == {"accuracy": 1.0, "auc": 1.0}
