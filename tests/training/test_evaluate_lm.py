"""Tests `tfreps evaluate-lm` against plain loops, and with several batch sizes."""

import json
import math
import shutil

import pytest

from docs.by_hand import elmo
from docs.by_hand.language_model import full_softmax_loss, perplexity
from tests import known_models
from tests.closeness import FLOAT64, assert_close
from tests.conftest import CORPUS
from tests.data.oracle import oracle_batches
from tests.tiny_run import make_run
from tfreps.__main__ import main
from tfreps._src.convert import bilm_tf, bilm_tf_options
from tfreps._src.convert.table import written_rows
from tfreps.models import BiLM
from tfreps.runs import RunFolder

LINES = CORPUS["heldout.txt"].strip().split("\n")


@pytest.fixture(scope="module")
def run(trained, tmp_path_factory):
    """Returns a copy of the trained run, since an evaluation writes to it."""
    return shutil.copytree(trained, tmp_path_factory.mktemp("copy") / "run")


@pytest.fixture(scope="module")
def heldout(tmp_path_factory):
    """Returns the path of the held-out text with blank lines between its sentences."""
    path = tmp_path_factory.mktemp("text") / "heldout.txt"
    path.write_text("\n\n".join(LINES) + "\n \n")
    return path


def evaluate(run, *arguments):
    assert main(["evaluate-lm", str(run), *map(str, arguments)]) == 0
    return json.loads((run / "results.json").read_text())["evaluation"]


@pytest.fixture(scope="module")
def nlls(run):
    """Returns a function from pairs `(token, id of the next one)` in a direction to their NLLs."""
    folder = RunFolder.open(run)
    model, vocabulary = folder.load_model(), folder.vocabulary()
    config = model.bilm.get_config()
    rows = written_rows(bilm_tf.table(config), bilm_tf.weights_of(model.bilm))
    weights = {name: make() for name, make in rows.items()}
    options = bilm_tf_options.as_json(config)
    kernel, bias = model.softmax.kernel.numpy(), model.softmax.bias.numpy()
    vectors = {}

    def of(positions, direction):
        for token, _ in positions:
            if token not in vectors:
                vectors[token] = elmo.token_vector(weights, options, token)
        inputs = [vectors[token] for token, _ in positions]
        layers, _ = elmo.read_direction(weights, options, direction, inputs)
        targets = [target for _, target in positions]
        return [
            full_softmax_loss(x, kernel, bias, target)
            for x, target in zip(layers[-1], targets, strict=True)
        ]

    return of, vocabulary


def positions_of(words, vocabulary, reverse):
    tokens = ["<S>", *words, "</S>"]
    tokens = tokens[::-1] if reverse else tokens
    return list(zip(tokens[:-1], vocabulary.tokens_to_ids(tokens[1:]), strict=True))


def expected(forward, backward):
    return {
        "forward_perplexity": perplexity(forward),
        "backward_perplexity": perplexity(backward),
        "perplexity": perplexity(forward + backward),
    }


@pytest.mark.few(1)
@pytest.mark.parametrize("batch_size", [7, 1])
def test_each_sentence_from_the_fixed_state(run, heldout, nlls, batch_size):
    """All batch sizes agree with loops over single sentences."""
    of, vocabulary = nlls
    both = [
        [
            nll
            for line in LINES
            for nll in of(positions_of(line.split(), vocabulary, reverse), direction)
        ]
        for direction, reverse in enumerate((False, True))
    ]
    results = evaluate(run, "--text", heldout, "--batch-size", batch_size)
    for name, value in expected(*both).items():
        assert_close(results[name], value, name=name)


@pytest.mark.slow
def test_carried_state(run, heldout, nlls):
    """A sentence continues the state of the previous one in its row, as in bilm-tf."""
    of, vocabulary = nlls
    both = []
    for direction, reverse in enumerate((False, True)):
        rows = [[], []]
        for words, targets in oracle_batches(LINES, vocabulary, 2, 5, reverse, finish=True):
            for row, *parts in zip(rows, words, targets, strict=True):
                row += [pair for pair in zip(*parts, strict=True) if pair[0] is not None]
        both.append([nll for row in rows for nll in of(row, direction)])
    results = evaluate(
        run, "--text", heldout, "--carry-state", "--batch-size", 2, "--unroll-steps", 5
    )
    for name, value in expected(*both).items():
        assert_close(results[name], value, name=name)
    assert results["carry_state"] and results["batch_size"] == 2


@pytest.mark.slow
def test_it_is_what_training_logged(run, heldout):
    best = json.loads((run / "results.json").read_text())["best_validation"]
    results = evaluate(run, "--text", heldout)
    assert_close(results["perplexity"], best["perplexity"])
    assert json.loads((run / "results.json").read_text())["best_validation"] == best


@pytest.mark.slow
def test_counts(run, heldout, nlls, capsys):
    _, vocabulary = nlls
    words = [word for line in LINES for word in line.split()]
    results = evaluate(run, "--text", heldout)
    unknown = sum(word not in vocabulary for word in words)
    assert 0 < unknown == results["unknown_tokens"]
    assert (results["tokens"], results["sentences"]) == (len(words), len(LINES))
    assert results["predicted_tokens_per_direction"] == len(words) + len(LINES)
    out = capsys.readouterr().out
    assert f"6 sentences, 53 tokens, {unknown / 53:.2%} outside the vocabulary; 59 predic" in out
    assert (
        f"{results['perplexity']:.3f}\nFull softmax; each sentence starts from the fixed state"
        in out
    )


@pytest.fixture(scope="module")
def one_direction(tmp_path_factory):
    sizes = {"filters": [], "vocabulary_size": 19, "bidirectional": False, "num_layers": 1}
    return make_run(tmp_path_factory.mktemp("words") / "run", **sizes)


def test_unigrams_and_one_direction(one_direction, tmp_path, capsys):
    run = RunFolder.open(one_direction[0])
    (tmp_path / "train.txt").write_text("the dog . dog\nzebra dog\n")
    (tmp_path / "test.txt").write_text("the cat\n\ndog dog dog\n")
    results = evaluate(
        run.path, "--text", tmp_path / "test.txt", "--unigram-from", tmp_path / "train.txt"
    )
    assert set(results) >= {"forward_perplexity", "perplexity"}
    assert "backward_perplexity" not in results
    assert results["perplexity"] == results["forward_perplexity"]
    # Of 19 tokens, each once more than counted: the 1, dog 3, "." 1, <UNK> 1, </S> 2, <S> never.
    total = 19 + 1 + 3 + 1 + 1 + 2
    seen = [2 / total, 2 / total, 3 / total, *[4 / total] * 3, 3 / total]
    unigrams = math.exp(-sum(map(math.log, seen)) / 7)
    assert_close(results["unigram_perplexity"], unigrams, unit=FLOAT64)
    assert f"unigram perplexity   {unigrams:10.3f}" in capsys.readouterr().out


def test_a_carried_state_without_a_full_batch(one_direction, tmp_path):
    (tmp_path / "test.txt").write_text("the cat\n")
    run = RunFolder.open(one_direction[0])
    results = evaluate(run.path, "--text", tmp_path / "test.txt", "--carry-state")
    assert results["perplexity"] > 1 and "full_batches" not in results


def refused(capsys, *arguments):
    assert main(["evaluate-lm", *map(str, arguments)]) == 2
    err = capsys.readouterr().err
    assert err.startswith("tfreps evaluate-lm: error: ") and err.count("\n") == 1
    return err


@pytest.mark.parametrize(
    "data, message",
    [
        (None, "matches no file"),
        (b"", "no text"),
        (b" \n\n", "no text"),
        (b"\x00\x01\x02", "line 1"),
        ("the naïve dog\n".encode("latin-1"), "line 1"),
        (b"zebra giraffe\n", "None of the 2 tokens"),
    ],
)
def test_bad_text(one_direction, tmp_path, capsys, data, message):
    text = tmp_path / "text.txt"
    if data is not None:
        text.write_bytes(data)
    assert message in refused(capsys, one_direction[0], "--text", text)


def test_bad_numbers(one_direction, heldout, capsys):
    for more in (["--batch-size", 0], ["--carry-state", "--unroll-steps", 0]):
        err = refused(capsys, one_direction[0], "--text", heldout, *more)
        assert "must be at least 1" in err


def test_unroll_steps_belong_to_a_carried_state(one_direction, heldout, capsys):
    err = refused(capsys, one_direction[0], "--text", heldout, "--unroll-steps", 5)
    assert "--unroll-steps requires --carry-state." in err


def test_bad_runs(heldout, tmp_path, capsys):
    assert "nowhere does not exist" in refused(capsys, tmp_path / "nowhere", "--text", heldout)
    run = RunFolder.create(tmp_path / "run", "pretrain-elmo", {})
    assert "contains no model.keras" in refused(capsys, run.path, "--text", heldout)
    run.save_model(BiLM(units=4, projection_dim=2, vocabulary_size=9))
    assert "must have a softmax" in refused(capsys, run.path, "--text", heldout)
    run.model_path.write_bytes(b"PK torn")
    assert "model.keras is damaged" in refused(capsys, run.path, "--text", heldout)
    other = known_models.tagger_run(tmp_path / "other").path
    assert "contains a tagger (Tagger); expected a" in refused(capsys, other, "--text", heldout)
