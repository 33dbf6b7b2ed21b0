"""Tests `tfreps pretrain-bert`: the files of a run, its flags, and bad input."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import tiny_bert
from tests.closeness import assert_close
from tests.convert.test_aespresso_bert import state_dict
from tests.training.bert_corpus import SIZES, files, history, pretrain, write_documents
from tests.training.test_pretrain_elmo import events
from tfreps.__main__ import main
from tfreps._src.callbacks.checkpoint_file import load_latest_checkpoint
from tfreps._src.runs.bert_loading import load_pretrainer
from tfreps.runs import RunFolder
from tfreps.text import read_tokenizer
from tfreps.training import pretrain_bert

pytest.importorskip("tensorflow_text", reason="masked language modeling needs it")

EPOCHS = ["--epochs", "1", "--batch-tokens", "128", "--checkpoint-every", "4"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_documents(tmp_path_factory.mktemp("documents"))


@pytest.fixture(scope="module")
def finished(folder, tmp_path_factory):
    """Returns the folder of a finished run, which tests must not change."""
    run = tmp_path_factory.mktemp("bert") / "run"
    more = ["--learning-rate", "0.02", "--whole-words", "--log-every", "4"]
    more += ["--keep-checkpoints"]
    return pretrain(files(folder), run, *EPOCHS, *more)


def test_the_run_folder(finished, folder):
    run = RunFolder.open(finished, "pretrain-bert")
    model, tokenizer = run.load_model(), read_tokenizer(run.tokenizer_path)
    assert model.encoder.hidden_dim == 8 and model.encoder.num_layers == 1 and model.next_sentence
    assert tokenizer.vocabulary == (folder / "vocab.txt").read_text().split()
    results = run.results()
    assert results["training"]["parameters"] == model.count_params()
    step, _, state = load_latest_checkpoint(run.checkpoints_path)
    assert (
        results["steps"] == step
        and state["callbacks"]["best_model"]["best"] == results["best_validation"]
    )


def test_figures(finished):
    lines = history(finished)
    names = {"loss", "masked_loss", "masked_perplexity", "masked_accuracy"}
    names |= {"next_sentence_loss", "next_sentence_accuracy"}
    last = {line["run"]: line for line in lines if line.get("epoch") == 1}
    assert names < set(last["train"]) and names < set(last["validation"])
    validation = last["validation"]
    assert_close(np.exp(validation["masked_loss"]), validation["masked_perplexity"])
    assert validation["masked_perplexity"] < 16  # the number of pieces
    within = [line["step"] for line in lines if "epoch" not in line]
    assert within and all(step % 4 == 0 for step in within)
    rates = [line["training/learning_rate"] for line in lines if line["run"] == "train"]
    assert max(rates) > 0.01 and rates[-1] == 0.0  # after the last step
    shown = events(finished / "logs" / "validation")
    assert sorted(shown) == sorted(names)


@pytest.mark.slow
def test_characters_of_records_in_low_precision(tmp_path):
    """Trains as aespresso does: records, labels, share of masked tokens, and dictionary."""
    rng = np.random.default_rng(1)
    letters = list("甲乙丙丁戊己")
    records = [
        {f"text{n}": "".join(rng.choice(letters, rng.integers(3, 9))) for n in (1, 2)}
        for _ in range(60)
    ]
    text = tmp_path / "pairs.txt"
    text.write_text("\n".join(map(str, records)), encoding="utf-8")
    line = ["--train", str(text), "--format", "records", "--next-label", "1"]
    more = ["--mask-rate", "0.3", "--optimizer", "lamb", "--precision", "bfloat16"]
    more += ["--epochs", "1", "--positions", "sinusoidal_full_index", "--schedule", "constant"]
    run = pretrain(line, tmp_path / "run", *more)
    model, tokenizer = load_pretrainer(run)
    assert tokenizer.vocabulary[20:] and set(tokenizer.vocabulary[20:]) == set(letters)
    assert model.dtype_policy.name == model.encoder.dtype_policy.name == "mixed_bfloat16"
    assert RunFolder.open(run).results()["best_validation"] == {}


@pytest.mark.slow
def test_going_on_from_a_run(finished, folder, tmp_path):
    line = files(folder)[:4]
    sizes = ["--max-length", "24", "--dropout", "0.0", "--no-next-sentence"]
    more = ["--epochs", "1", "--learning-rate", "1e-9", "--init", finished, *sizes]
    run = tmp_path / "run"
    assert main(["pretrain-bert", *line, "--run", str(run), *map(str, more)]) == 0
    old, new = load_pretrainer(finished)[0], load_pretrainer(run)[0]
    assert not new.next_sentence and new.encoder.dropout == 0.0
    for weight, before in zip(new.encoder.weights, old.encoder.weights, strict=True):
        if "seed" not in weight.path:
            # Adam's steps are as long as its learning rate: 10 of at most 1e-5.
            assert weight.numpy() == pytest.approx(before.numpy(), abs=1e-4)


def refused(capsys, line, run, *more):
    assert main(["pretrain-bert", *line, "--run", str(run), *map(str, more)]) == 2
    err = capsys.readouterr().err
    assert err.startswith("tfreps pretrain-bert: error: ") and err.count("\n") == 1
    assert not run.exists()
    return err


@pytest.mark.parametrize(
    "more, message",
    [
        (["--train", "/nowhere.txt"], "'/nowhere.txt' matches no file"),
        (["--max-length", "64"], "--max-length must be at most 32, the number of positions"),
        (["--max-length", "4"], "--max-length must be at least 5"),
        (["--mask-rate", "1"], "--mask-rate must be above 0 and below 1"),
        (["--hidden-dim", "9"], "--num-heads must divide --hidden-dim; got 2 heads for 9"),
        (
            ["--fields", "text"],
            "--fields has no effect with --format lines; it applies to",
        ),
        (["--min-count", "2"], "--min-count cannot be combined with --vocabulary."),
        (
            ["--next-label", "1", "--no-next-sentence"],
            "--next-label cannot be combined",
        ),
        (["--format", "records"], "train.txt, line 1: expected one JSON object"),
        (["--init", "/nowhere"], "--tokens cannot be combined with --init."),
        (
            ["--seed", str(2**31)],
            "--seed must be at least 0 and at most 2147483647; got 2147483648",
        ),
        (
            ["--gradient-accumulation-steps", "100000"],
            "--gradient-accumulation-steps must be at most",
        ),
        (["--warmup-steps", "100000"], "--warmup-steps must be at least 0 and below"),
        (["--vocabulary", "/nowhere"], "Cannot read the vocabulary /nowhere"),
    ],
)
def test_bad_options(folder, tmp_path, capsys, more, message):
    assert message in refused(capsys, [*files(folder), *SIZES], tmp_path / "run", *more)


def test_bad_text(tmp_path, capsys):
    def written(text):
        (tmp_path / "text.txt").write_bytes(text)
        return ["--train", str(tmp_path / "text.txt")]

    run = tmp_path / "run"
    assert "at least two documents with two" in refused(capsys, written(b"a b\nc\n"), run, *SIZES)
    assert "There is no text in" in refused(capsys, written(b"\n \n"), run, *SIZES)
    assert "text.txt, line 2" in refused(capsys, written(b"a\n\xff\n"), run, *SIZES)
    line = [*written(b"a\nb\n"), "--patience", "2"]
    assert "--patience requires --validation." in refused(capsys, line, run, *SIZES)
    line = [*written(b"a\nb\n\nc\nd\n"), "--whole-words"]
    assert "--whole-words has no effect with --tokens characters" in refused(
        capsys, line, run, *SIZES
    )
    line = [*written(b"a\nb\n"), "--tokens", "wordpiece"]
    assert "--vocabulary is missing" in refused(capsys, line, run, *SIZES)


def test_bad_init(finished, folder, tmp_path, capsys):
    line, run = files(folder)[:4], tmp_path / "run"
    assert "/nowhere does not exist" in refused(capsys, line, run, "--init", "/nowhere")
    err = refused(capsys, line, run, "--init", finished, "--num-layers", "2", "--cased")
    assert "--cased cannot be combined with --init." in err
    err = refused(capsys, line, run, "--init", finished, "--next-label", "1")
    assert "--next-label must be 0, the value" in err
    tiny_bert.write_checkpoint(tmp_path / "published", tiny_bert.pieces("the"))
    state_dict(tmp_path / "bert.model.epoch.3.safetensors")
    known = {"published": "1", "published/model.safetensors": "1"}
    for name, label in {**known, "bert.model.epoch.3.safetensors": "0"}.items():
        err = refused(capsys, line, run, "--init", tmp_path / name, "--next-label", label)
        assert "was trained with" in err and f"--next-label {label}" not in err
    other = tmp_path / "other"
    other.mkdir()
    head = {"command": "embed", "format_version": 4, "options": {}}
    (other / "options.json").write_text(json.dumps(head))
    assert "a run of `tfreps embed`" in refused(capsys, line, run, "--init", other)


def test_resuming_with_other_options(finished, folder, capsys):
    line = ["pretrain-bert", *files(folder), *SIZES, *EPOCHS, "--run", str(finished), "--resume"]
    assert main([*line, "--mask-rate", "0.2"]) == 2
    assert "started with different options: mask_rate" in capsys.readouterr().err


def test_accumulated_gradients_are_an_error_on_several_replicas():
    pretrain_bert.check_accumulation(4, 1)
    pretrain_bert.check_accumulation(1, 2)
    with pytest.raises(ValueError, match="^--gradient-accumulation-steps must be 1 on 2 replicas"):
        pretrain_bert.check_accumulation(4, 2)


def test_the_optimizer():
    words = ["--run", "r", "--train", "t", "--gradient-accumulation-steps", "3"]
    options = pretrain_bert.COMMAND.parse(words)
    optimizer = pretrain_bert.make_optimizer(options, 40)
    weights = [keras.Variable(tf.ones([2, 2]), name=n) for n in ("kernel", "gamma", "token_bias")]
    gradients = [tf.zeros([2, 2])] * 3
    for _ in range(2):
        optimizer.apply(gradients, weights)
    assert all((weight.numpy() == 1.0).all() for weight in weights)
    optimizer.apply(gradients, weights)  # the third of 4 steps of warm-up
    decayed = 1 - 0.01 * 5e-4 * 3 / 4
    assert_close(weights[0].numpy(), decayed)
    assert (weights[1].numpy() == 1.0).all() and (weights[2].numpy() == 1.0).all()
    options.clip_norm, options.optimizer, options.schedule = 0.0, "lamb", "constant"
    optimizer = pretrain_bert.make_optimizer(options, 40)
    assert type(optimizer).__name__ == "Lamb" and optimizer.global_clipnorm is None
    schedule = keras.optimizers.schedules.deserialize(optimizer.get_config()["learning_rate"])
    assert_close(float(schedule(1000)), 5e-4)
