"""Tests `tfreps evaluate`: metrics of held-out data, and data that do not fit the model."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

import tfreps
from tests import known_models, tiny_run
from tests.closeness import assert_close
from tests.known_models import TEXTS, WORDS, softmax
from tests.training.labeling import ask, refused, results, train_classifier
from tfreps.__main__ import main
from tfreps._src.runs.run_lock import locked
from tfreps.reports import calibration_error
from tfreps.training.evaluate import say_fitted

# Predictions of the known tagger: B-PER O B-LOC; O B-LOC.
CONLL = "Ada B-PER\nsaw O\nRome B-PER\n\nslept O\nRome B-LOC\n"
TABLE = "bad\tAda\ngood\tsaw\ngood\tRome Rome\ngood\tslept\n"  # saw is classified as bad


@pytest.fixture
def tags(tmp_path):
    (tmp_path / "test.conll").write_text(CONLL)
    how = {"format": "conll", "token_column": 0, "tag_column": -1}
    run = known_models.tagger_run(tmp_path / "tagger", **how)
    return run.path, tmp_path / "test.conll"


@pytest.fixture
def labels(tmp_path):
    (tmp_path / "test.tsv").write_text(TABLE)
    how = {"format": "tab", "text_field": "text", "label_field": "label", "encoding": "utf-8"}
    return known_models.classifier_run(tmp_path / "classifier", **how).path, tmp_path / "test.tsv"


def test_tagger(tags, tmp_path):
    run, data = tags
    out = ask("evaluate", run, "--data", data, "--output", tmp_path / "figures.json")
    assert "accuracy 0.8000" in out and "micro     0.6667   0.6667   0.6667        3" in out
    kept = results(run)["evaluation"]
    shares = softmax([WORDS[word] for word in ("Ada", "saw", "Rome", "slept", "Rome")]).max(1)
    right = np.array([True, True, False, True, True])
    assert_close(kept["calibration_error"], calibration_error(shares, right))
    spans = [0, 2, 4]  # each of one token
    expected = calibration_error(shares[spans], right[spans])
    assert_close(kept["span_calibration_error"], expected)
    assert f"of tags, {expected:.4f} of spans" in out and kept["temperature"] == 1.0
    assert "illegal transitions: 0 of 7, in 0 sentences\n" in out
    assert kept.pop("data") == [str(data)] and kept["accuracy"] == 0.8
    assert json.loads((tmp_path / "figures.json").read_text()) == kept


def test_classifier_at_the_threshold_of_dev(labels, tmp_path):
    run, data = labels
    assert "accuracy 0.7500, AUC 1.0000" in ask("evaluate", run, "--data", data)
    assert "at_threshold" not in results(run)["evaluation"]  # the validation data gave no threshold
    swapped = ["\t".join(line.split("\t")[::-1]) for line in TABLE.splitlines()]
    (tmp_path / "swapped.tsv").write_text("\n".join(swapped))
    columns = ["--text-field", "0", "--label-field", "1"]
    assert "accuracy 0.7500" in ask("evaluate", run, "--data", tmp_path / "swapped.tsv", *columns)
    (run / "results.json").write_text(
        json.dumps({"validation": {"threshold": 0.5}, "best": {"step": 3}})
    )
    ask("evaluate", run, "--data", data)
    found = results(run)
    assert_close(found["evaluation"]["at_threshold"]["f1"], 2 * 2 / 5)
    assert found["best"] == {"step": 3}  # earlier results stay


def test_the_calibration_error_of_labels(labels):
    assert "expected calibration error: " in ask("evaluate", labels[0], "--data", labels[1])
    shares = softmax([TEXTS[word] for word in ("Ada", "saw", "Rome", "slept")]).max(1)
    expected = calibration_error(shares, [True, False, True, True])
    assert_close(results(labels[0])["evaluation"]["calibration_error"], expected)


def confidences(trained, kind):
    """Returns the tags and confidences, or the labels and probabilities, of three texts."""
    found = trained(["Ada saw Rome", "Rome slept", "Ada"])
    if kind == "tags":
        return [x.tags for x in found], np.concatenate([x.confidences for x in found])
    return [x.label for x in found], np.array([list(x.probabilities.values()) for x in found])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["labels", "tags"])
def test_a_fitted_temperature_is_everywhere(kind, request, tmp_path):
    run, data = request.getfixturevalue(kind)
    before = confidences(tfreps.load(run), kind)
    out = ask("evaluate", run, "--data", data, "--fit-temperature")
    trained = tfreps.load(run)
    found, temperature = confidences(trained, kind), trained.model.temperature
    assert temperature != 1.0 and f"temperature: 1.0000 before, {temperature:.4f} after" in out
    assert found[0] == before[0] and np.abs(found[1] - before[1]).max() > 1e-3
    if kind == "labels":
        scores = [np.mean([TEXTS[w] for w in t.split()], 0) for t in ("Ada saw Rome", "Rome slept")]
        assert_close(found[1][:2], softmax(np.array(scores) / temperature))

    entry = results(run)["evaluation"]
    assert entry["temperature"] == temperature
    after = entry["calibration"]["after"]
    assert after["nll"] < entry["calibration"]["before"]["nll"]
    assert after["calibration_error"] == entry["calibration_error"]
    ask("evaluate", run, "--data", data)  # reads the stored model
    assert results(run)["evaluation"]["calibration_error"] == entry["calibration_error"]

    keras_file = keras.saving.load_model(run / "model.keras")
    assert keras_file.temperature == temperature
    trained.save_to_preset(tmp_path / "preset")
    preset = confidences(tfreps.load(tmp_path / "preset"), kind)
    assert preset[0] == found[0] and np.array_equal(preset[1], found[1])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["labels", "tags"])
def test_an_export_has_the_fitted_temperature(kind, request, tmp_path):
    run, data = request.getfixturevalue(kind)
    ask("evaluate", run, "--data", data, "--fit-temperature")
    found = confidences(tfreps.load(run), kind)
    assert main(["export", str(run), "--output", str(tmp_path / "export")]) == 0
    served = tf.saved_model.load(tmp_path / "export" / "1").signatures["default"]
    outputs = served(text=tf.constant(["Ada saw Rome", "Rome slept", "Ada"]))
    if kind == "tags":
        shares = outputs["confidences"].numpy()
        assert_close(shares[outputs["tokens"].numpy() != b""], found[1])
    else:
        assert_close(outputs["probabilities"], found[1])


@pytest.mark.slow
def test_the_threshold_of_the_validation_data_follows_the_temperature(labels):
    run, data = labels
    threshold = 0.4
    (run / "results.json").write_text(json.dumps({"validation": {"threshold": threshold}}))
    ask("evaluate", run, "--data", data)
    before = results(run)["evaluation"]
    answers = ask("classify", run, data, "--threshold", "validation")
    ask("evaluate", run, "--data", data, "--fit-temperature")
    after = results(run)["evaluation"]
    assert after["at_threshold"] == before["at_threshold"]
    odds = np.log(threshold / (1 - threshold)) / after["temperature"]
    assert_close(after["threshold"], 1 / (1 + np.exp(-odds)))
    again = ask("classify", run, data, "--threshold", "validation")
    assert [line.split("\t")[0] for line in again.splitlines()] == [
        line.split("\t")[0] for line in answers.splitlines()
    ]
    ask("evaluate", run, "--data", data, "--fit-temperature")  # once more, from scratch
    fitted = results(run)["evaluation"]["calibration"]
    assert_close(fitted["after"]["temperature"], fitted["before"]["temperature"])


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["labels", "tags"])
def test_a_given_temperature(kind, request):
    run, data = request.getfixturevalue(kind)
    before = confidences(tfreps.load(run), kind)
    ask("evaluate", run, "--data", data, "--temperature", 2.5)
    assert results(run)["evaluation"]["temperature"] == tfreps.load(run).model.temperature == 2.5
    ask("evaluate", run, "--data", data, "--temperature", 1)
    after = confidences(tfreps.load(run), kind)
    assert after[0] == before[0] and np.array_equal(after[1], before[1])


def test_a_warning_about_spans(capsys):
    before = {"temperature": 1.0, "nll": 0.5, "span_calibration_error": 0.1}
    for error, warns in [(0.2, True), (0.1, False), (0.05, False)]:
        after = {"temperature": 2.0, "nll": 0.4, "span_calibration_error": error}
        say_fitted({"before": before, "after": after, "left_out": 0}, "token")
        said = capsys.readouterr().out
        assert ("restore the previous temperature with --temperature 1." in said) == warns


def test_temperatures_that_cannot_be_fitted_or_stored(tags, labels, tmp_path, capsys):
    run, data = labels
    kept = (run / "model.keras").read_bytes()
    data.write_text("bad\tAda\ngood\tRome\n")
    err = refused(capsys, "evaluate", run, "--data", data, "--fit-temperature")
    assert "all predictions for the data are right" in err
    assert (run / "model.keras").read_bytes() == kept and not (run / "results.json").exists()
    tfreps.load(tags[0]).save_to_preset(tmp_path / "preset")
    err = refused(capsys, "evaluate", tmp_path / "preset", "--data", tags[1], "--fit-temperature")
    assert "MODEL must be a local run folder" in err and "preset. Store the temperature" in err
    with locked(tags[0], "train-tagger"):
        err = refused(capsys, "evaluate", tags[0], "--data", tags[1], "--fit-temperature")
    assert "is in use: process" in err


@pytest.mark.slow
def test_data_of_another_form(tags, labels, tmp_path):
    (tmp_path / "a.json").write_text('{"text": ["Ada", "saw"], "label": ["B-PER", "O"]}\n')
    assert "accuracy 1.0" in ask(
        "evaluate", tags[0], "--data", tmp_path / "a.json", "--format", "json"
    )
    (tmp_path / "b.conll").write_text("B-PER x Ada\nO x saw\n")
    columns = ["--token-column", "2", "--tag-column", "0"]
    assert "accuracy 1.0" in ask("evaluate", tags[0], "--data", tmp_path / "b.conll", *columns)


@pytest.mark.slow
def test_a_trained_run_gives_the_figures_of_training(tagger, tagged, classifier, labeled, tmp_path):
    for run, files in ((tagger, tagged), (classifier, labeled)):
        output = tmp_path / f"{run.name}.json"
        before = (run / "results.json").read_bytes()
        try:
            ask("evaluate", run, "--data", files[5], "--output", output)
        finally:
            (run / "results.json").write_bytes(before)
        assert json.loads(output.read_text()) == results(run)["test"]


def test_data_that_do_not_fit(tags, capsys, tmp_path):
    run, data = tags
    data.write_text(CONLL + "\nMax B-ORG\n")
    err = refused(capsys, "evaluate", run, "--data", data)
    assert "test.conll, line 8, token 1: the tag 'B-ORG' is not one of the 3" in err
    assert "matches no file" in refused(capsys, "evaluate", run, "--data", tmp_path / "absent")
    data.write_text("Ada\n")
    assert "line 1: expected a token in column 0" in refused(
        capsys, "evaluate", run, "--data", data
    )
    data.write_text("")
    assert "is empty" in refused(capsys, "evaluate", run, "--data", data)
    assert not (run / "results.json").exists()


def test_labels_that_the_model_does_not_have(labels, capsys):
    run, data = labels
    data.write_text(TABLE + "so-so\tAda\n")
    err = refused(capsys, "evaluate", run, "--data", data)
    assert "test.tsv, line 5: the label 'so-so' is not one of the 2 labels of the model" in err


def test_flags_that_say_nothing_about_such_data(tags, labels, capsys):
    for (run, data), flag in ((tags, "--text-field"), (labels, "--tag-column")):
        err = refused(capsys, "evaluate", run, "--data", data, flag, "1")
        assert f"{flag} has no effect with a " in err
        err = refused(capsys, "evaluate", run, "--data", data, "--vectors", "v.hdf5")
        assert "which reads no stored vectors; got v.hdf5" in err
        err = refused(capsys, "evaluate", run, "--data", data, "--format", "xml")
        assert "--format must be" in err


@pytest.mark.slow
def test_runs_of_another_kind(tmp_path, capsys):
    path, _ = tiny_run.make_run(tmp_path / "bilm")
    err = refused(capsys, "evaluate", path, "--data", "x")
    assert "contains a biLM (BiLMPretrainer); expected a tagger or classifier" in err
    with pytest.raises(SystemExit):
        main(["evaluate", path])


@pytest.mark.slow
def test_a_run_that_is_trained_further_has_no_temperature(labeled, tmp_path):
    sizes = ["--encoder", "cnn", "--set", "num_filters=8", "widths=2", "--embedding-dim", "8"]
    run = tmp_path / "run"
    more = "--keep-checkpoints", "--monitor", "val_loss", "--epochs"
    train_classifier(labeled, run, *more, 1, sizes=sizes)
    ask("evaluate", run, "--data", labeled[3], "--fit-temperature")
    assert tfreps.load(run).model.temperature != 1.0
    assert main(["train-classifier", "--run", str(run), "--resume", "--epochs", "3"]) == 0
    found = results(run)
    assert found["best"]["step"] > found["best"]["steps"] / 3  # better than after one epoch
    assert tfreps.load(run).model.temperature == found["test"]["temperature"] == 1.0
