"""Tests `tfreps pretrain-elmo`: the files of a run, and its flags."""

import json
import math

import numpy as np
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tests.closeness import assert_close
from tests.training.pretraining import flags, history, losses, pretrain
from tfreps.__main__ import main
from tfreps._src.callbacks.checkpoint_file import load_latest_checkpoint
from tfreps.models import BiLM, BiLMPretrainer
from tfreps.runs import RunFolder
from tfreps.text import Vocabulary
from tfreps.training import pretrain_elmo
from tfreps.training.workers.data_share import DataShare
from tfreps.training.workers.workers import Workers

# A minimal network for tests of other things, since tracing a larger one takes seconds.
LEAST = ["--units", "8", "--projection-dim", "4", "--word-input", "--no-bidirectional"]


def events(folder):
    """Returns the metrics of an event folder: tag -> {step: value}."""
    accumulator = EventAccumulator(str(folder), size_guidance={"tensors": 0})
    accumulator.Reload()
    return {
        tag: {e.step: tf.make_ndarray(e.tensor_proto) for e in accumulator.Tensors(tag)}
        for tag in accumulator.Tags()["tensors"]
    }


def test_the_run_folder(trained, corpus):
    run = RunFolder.open(trained, "pretrain-elmo")
    assert run.options["units"] == 16 and run.options["filters"] == [[1, 8], [2, 8]]
    assert run.options["unroll_steps"] == 5 and "resume" not in run.options
    vocabulary = Vocabulary.read(corpus / "vocabulary.txt")
    assert run.vocabulary().tokens == vocabulary.tokens
    model = run.load_model()
    assert isinstance(model, BiLMPretrainer) and model.bilm.units == 16
    assert model.bilm.dropout == 0.1 and model.bilm.use_skip_connections
    np.testing.assert_array_equal(model.character_table, vocabulary.character_table())
    assert not run.checkpoints_path.exists()
    assert not [p for p in trained.rglob("*") if "tmp" in p.name or "saving" in p.name]


def test_the_best_weights_are_kept(trained):
    validation = [line for line in history(trained) if line["run"] == "validation"]
    assert [line["step"] for line in validation] == [17, 34]  # 334 positions at 20 per step
    best = min(validation, key=lambda line: line["perplexity/mean"])
    results = json.loads((trained / "results.json").read_text())
    assert results["steps"] == 34
    assert results["best_validation"] == {"perplexity": best["perplexity/mean"], "step": 34}
    assert best["perplexity/mean"] < validation[0]["perplexity/mean"]  # it learns


def test_tensorboard_shows_what_happened(trained):
    validation, train = events(trained / "logs/validation"), events(trained / "logs/train")
    perplexities = {"perplexity/forward", "perplexity/backward", "perplexity/mean"}
    assert set(validation) == perplexities
    weights = {tag for tag in train if tag.startswith("weights/")}
    assert set(train) - weights == perplexities | {
        "training/sampled_perplexity",
        "training/tokens_per_second",
        "training/learning_rate",
        "training/gradient_norm",
    }
    assert any("softmax/kernel" in tag for tag in weights) and len(weights) == 19
    for found, run in ((validation, "validation"), (train, "train")):
        for line in history(trained):
            for tag, value in line.items():
                if line["run"] == run and "/" in tag:
                    assert found[tag].pop(line["step"]) == np.float32(value), tag
    speeds = train.pop("training/tokens_per_second")
    assert sorted(speeds) == [5, 10, 15, 20, 25, 30] and all(0 < v < 1e6 for v in speeds.values())
    left = {tag: steps for tag, steps in {**train, **validation}.items() if steps}
    assert set(left) == weights


def test_the_figures(trained):
    lines = history(trained)
    assert list(losses(trained)) == [5, 10, 15, 20, 25, 30]
    rates = {line.get("training/learning_rate") for line in lines} - {None}
    assert rates == {float(np.float32(0.2))}
    assert all(0 < line.get("training/gradient_norm", 1) < 100 for line in lines)
    for line in lines:
        if "perplexity/mean" in line:  # the mean over all tokens of both directions
            mean = math.sqrt(line["perplexity/forward"] * line["perplexity/backward"])
            assert_close(line["perplexity/mean"], mean)


@pytest.mark.slow
def test_progress_and_what_to_do_next(corpus, tmp_path, capsys):
    pretrain(corpus, tmp_path / "run", *LEAST, steps=4, sizes=[], validation=False)
    out, err = capsys.readouterr()
    assert "304 tokens in 30 sentences, 0.00% outside the vocabulary of 119" in out
    assert f"tensorboard --logdir {tmp_path / 'run' / 'logs'}" in out
    assert f"Wrote {tmp_path / 'run' / 'model.keras'}" in out and "tfreps evaluate-lm" in out
    first = err.splitlines()[0]
    assert first.startswith("step 2 of 4 | sampled perplexity ") and first.endswith(" left")
    assert " tokens/s | 0:" in first


@pytest.mark.slow
def test_full_softmax_adam_and_cosine(corpus, tmp_path):
    more = ["--num-sampled", "0", "--optimizer", "adam", "--schedule", "cosine"]
    more += ["--warmup-steps", "4", "--log-every", "1", "--learning-rate", "0.01"]
    run = pretrain(corpus, tmp_path / "run", *LEAST, *more, steps=8, sizes=[])
    lines = [line for line in history(run) if "training/learning_rate" in line]
    rates = [line["training/learning_rate"] for line in lines]
    # The rate that the next step will have: up to 0.01 in 4 steps, down a cosine in 4 more.
    up = [0.01 * step / 4 for step in range(1, 5)]
    down = [0.005 * (1 + math.cos(math.pi * step / 4)) for step in range(1, 5)]
    assert_close(rates, up + down)
    assert "training/training_perplexity" in lines[0]  # not a sampled one
    assert [line["run"] for line in history(run) if "perplexity/mean" in line] == ["validation"]
    assert RunFolder.open(run).load_model().num_sampled is None


@pytest.mark.slow
def test_words_tied(corpus, tmp_path):
    sizes = ["--units", "8", "--projection-dim", "4"]
    more = ["--word-input", "--tie-embeddings"]
    run = pretrain(corpus, tmp_path / "run", *more, steps=2, sizes=sizes, validation=False)
    model = RunFolder.open(run).load_model()
    assert model.tie_embeddings and model.bilm.vocabulary_size == 119 and model.bilm.bidirectional
    assert (model.bilm.sentence_start_id, model.bilm.sentence_end_id) == (1, 2)
    assert not hasattr(model.softmax, "kernel")


@pytest.mark.slow
def test_one_direction(corpus, tmp_path):
    run = pretrain(corpus, tmp_path / "run", *LEAST, "--no-use-skip-connections", sizes=[], steps=2)
    tags = {tag for line in history(run) for tag in line if tag.startswith("perplexity/")}
    assert tags == {"perplexity/forward", "perplexity/mean"}
    bilm = RunFolder.open(run).load_model().bilm
    assert not bilm.bidirectional and not bilm.use_skip_connections


@pytest.mark.slow
def test_bfloat16_is_close_to_float32(corpus, tmp_path):
    options = {"sizes": [], "validation": False, "steps": 12}
    full = pretrain(corpus, tmp_path / "full", *LEAST, **options)
    half = pretrain(corpus, tmp_path / "half", *LEAST, "--precision", "bfloat16", **options)
    assert losses(half) == pytest.approx(losses(full), rel=0.02) and losses(half) != losses(full)
    model = RunFolder.open(half).load_model()
    assert model.bilm.bilstm.compute_dtype == "bfloat16"
    assert {str(w.dtype) for w in model.trainable_weights} == {"float32"}


@pytest.mark.slow
def test_float16_resumes_with_its_loss_scale(corpus, tmp_path):
    more = [*LEAST, "--precision", "float16", "--keep-checkpoints"]
    options = {"sizes": [], "validation": False}
    whole = pretrain(corpus, tmp_path / "whole", *more, steps=12, **options)
    halves = pretrain(corpus, tmp_path / "halves", *more, steps=6, **options)
    pretrain(corpus, halves, *more, "--resume", steps=12, **options)
    assert losses(halves) == pytest.approx(losses(whole), rel=1e-3)
    _, arrays, _ = load_latest_checkpoint(halves / "checkpoints")
    scalars = [a for name, a in arrays.items() if name.startswith("optimizer/") and a.shape == ()]
    scale = max(map(float, scalars))  # starts at 2 ** 15 and is halved where a gradient overflowed
    assert scale >= 2**8 and np.log2(scale) % 1 == 0


@pytest.mark.slow
def test_minutes_stop_a_run_that_then_goes_on(corpus, tmp_path):
    run, more = tmp_path / "run", [*LEAST, "--keep-checkpoints"]
    options = {"sizes": [], "steps": 10}
    pretrain(corpus, run, *more, "--time-limit-minutes", "1e-9", **options)
    assert json.loads((run / "results.json").read_text())["steps"] == 1
    pretrain(corpus, run, *more, "--resume", **options)
    assert list(losses(run)) == [2, 4, 6, 8, 10]
    assert main(["pretrain-elmo", "--run", str(run), "--resume", "--epochs", "0.6"]) == 0
    (run / "results.json").write_text('{"evaluation": {"perplexity": 1.0}}')
    pretrain(corpus, run, *more, "--resume", **options)  # done already
    results = json.loads((run / "results.json").read_text())
    assert results["steps"] == 10 and results["evaluation"] == {"perplexity": 1.0}


@pytest.mark.slow
def test_epochs_are_counted_in_tokens(corpus, tmp_path):
    """With 334 positions and 20 per step, one and a half passes are 25 steps."""
    line = flags(corpus, tmp_path / "run", *LEAST, "--epochs", "1.5", sizes=[], validation=False)
    at = line.index("--steps")
    assert main([*line[:at], *line[at + 2 :]]) == 0
    assert json.loads((tmp_path / "run/results.json").read_text())["steps"] == 25


def test_the_training_sample_has_sentences_of_all_lengths(tmp_path):
    """Batches are sorted by length, so the first ones have only short sentences."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 60, 4000)
    text = tmp_path / "text.txt"
    text.write_text("\n".join(" ".join(["a"] * n) for n in lengths) + "\n", encoding="utf-8")
    Vocabulary(["<S>", "</S>", "<UNK>", "a"]).write(tmp_path / "vocabulary.txt")
    arguments = ["--train", str(text), "--validation", str(text), "--run", "unused"]
    options = pretrain_elmo.COMMAND.parse([*arguments, "--batch-size", "8"])
    options.num_sampled, options.allow_unsorted_vocabulary = 1, True
    bilm = BiLM(vocabulary_size=4, units=4, projection_dim=4, bidirectional=False)
    vocabulary = Vocabulary.read(tmp_path / "vocabulary.txt")
    model = BiLMPretrainer(bilm, 4, num_sampled=1, batch_size=8)
    share = DataShare(Workers(tf.distribute.get_strategy()), divided=False)
    counts = {"sentences": 4000}
    _, sample = pretrain_elmo.make_held_out(options, model, vocabulary, counts, share)
    masks = [batch["mask"].numpy() for batch in sample]
    positions = np.concatenate([mask.sum(axis=1) for mask in masks])
    assert 20 <= len(masks) <= 60
    # 4000 lengths have a standard error of 0.3, and some 300 of 1; every 12th batch is as good.
    assert abs(positions.mean() - (lengths + 1).mean()) < 3


@pytest.mark.slow
def test_a_run_that_diverges_ends_and_saves_no_model(corpus, tmp_path, capsys):
    command = flags(corpus, tmp_path / "run", *LEAST, "--learning-rate", "1e30", sizes=[])
    assert main(command) == 2
    assert "Training has diverged: at step 2" in capsys.readouterr().err
    assert not (tmp_path / "run" / "model.keras").exists()
