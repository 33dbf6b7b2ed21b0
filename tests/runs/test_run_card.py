"""A run folder's part of a model card."""

from tfreps.runs.run_card import run_card
from tfreps.runs.run_folder import RunFolder


def test_options_data_and_metrics(tmp_path):
    options = {
        "run": "runs/a",
        "train": ["/home/me/a.conll", "b.conll"],
        "dev": "data\\dev.conll",
        "test": None,
        "units": 12,
        "lowercase": True,
        "vectors": None,
        "minutes": 3,
    }
    run = RunFolder.create(tmp_path / "run", "train-tagger", options)
    assert run_card(run)["metrics"] == {}
    run.write_results({"dev": {"accuracy": 0.5}, "training": {"tokens": 3}})
    assert run_card(run) == {
        "training": {"program": "tfreps train-tagger", "units": 12, "lowercase": True},
        "data": {"train": ["a.conll", "b.conll"], "dev": ["dev.conll"]},
        "metrics": {"dev": {"accuracy": 0.5}},
    }
