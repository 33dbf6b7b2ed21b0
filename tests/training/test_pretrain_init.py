"""Tests `tfreps pretrain-elmo --init`: training that continues from earlier weights."""

import json

import numpy as np
import pytest

from tests.bilm_tf_run import training_arrays, training_options, write_training_folder
from tests.closeness import assert_close
from tests.training.pretraining import flags, history, pretrain
from tfreps.__main__ import main
from tfreps._src.callbacks.checkpoint_file import load_latest_checkpoint
from tfreps._src.convert import bilm_tf, bilm_tf_checkpoint
from tfreps.data import LMBatches
from tfreps.models import BiLM
from tfreps.runs import RunFolder
from tfreps.text import Vocabulary

STILL = ["--learning-rate", "1e-9", "--dropout", "0"]  # the weights hardly change
SMALL = ["<S>", "</S>", "<UNK>", *"the . river in a and was bank he of".split()]


@pytest.mark.slow
def test_from_a_run_with_its_vocabulary(trained, corpus, tmp_path):
    """The softmax is restored, too, so the validation perplexity is the same."""
    more = ["--init", trained, *STILL]
    run = pretrain(corpus, tmp_path / "run", *more, steps=1, sizes=[], vocabulary=False)
    before = json.loads((trained / "results.json").read_text())["best_validation"]["perplexity"]
    (now,) = [line["perplexity/mean"] for line in history(run) if line["run"] == "validation"]
    assert_close(now, before)
    assert RunFolder.open(run).load_model().bilm.dropout == 0.0


@pytest.mark.slow
def test_from_published_weights_for_another_vocabulary(corpus, tmp_path):
    source = BiLM(filters=[[1, 4]], units=6, projection_dim=2, num_layers=1, num_highways=0)
    files = tmp_path / "options.json", tmp_path / "weights.hdf5"
    bilm_tf.write_weights(source, *files)
    (tmp_path / "vocabulary.txt").write_text("".join(token + "\n" for token in SMALL))
    more = ["--init", files[1], "--vocabulary", tmp_path / "vocabulary.txt", *STILL]
    more += ["--num-sampled", "0"]
    options = {"steps": 1, "sizes": [], "vocabulary": False, "validation": False}
    run = RunFolder.open(pretrain(corpus, tmp_path / "run", *more, **options))
    model = run.load_model()
    assert model.vocabulary_size == len(SMALL) and run.vocabulary().tokens == SMALL
    before = bilm_tf.weights_of(source)
    for path, weight in bilm_tf.weights_of(model.bilm).items():
        assert_close(weight, before[path], magnitude=1.0, name=path)  # steps of 1e-9


@pytest.mark.slow
def test_from_a_training_folder_of_bilm_tf(corpus, tmp_path):
    """The first loss is that of the restored model, and the accumulators are restored."""
    options = training_options({"n_layers": 1}, characters=None, n_tokens_vocab=len(SMALL))
    arrays = training_arrays(options)
    old = write_training_folder(tmp_path / "old", options, arrays)
    (tmp_path / "vocabulary.txt").write_text("".join(token + "\n" for token in SMALL))
    more = ["--init", old, "--vocabulary", tmp_path / "vocabulary.txt", "--num-sampled", "0"]
    more += ["--log-every", "1", "--dropout", "0", "--keep-checkpoints"]
    run = pretrain(
        corpus, tmp_path / "run", *more, steps=1, sizes=[], vocabulary=False, validation=False
    )
    batches = LMBatches(
        str(corpus / "train*.txt"),
        Vocabulary(SMALL),
        4,
        5,
        characters=None,
        shuffle=True,
        skip_blank=True,
    )
    batch = next(iter(batches.dataset()))
    nll, _ = bilm_tf_checkpoint.read_training_folder(old).model(batch)
    logged = history(run)[0]["training/training_perplexity"]
    assert_close(logged, np.exp(nll.numpy().mean()))

    _, saved, _ = load_latest_checkpoint(run / "checkpoints")
    paths = [w.path for w in RunFolder.open(run).load_model().trainable_variables]
    # Adagrad's variables are its iterations, its learning rate, and then one for each weight.
    sums = {path: saved[f"optimizer/{2 + place}"] for place, path in enumerate(paths)}
    (bias,) = [sums[path] for path in paths if path.endswith("softmax/bias")]
    growth = bias - arrays["lm/softmax/b/Adagrad"]
    assert (growth >= 0).all() and 0 < growth.max()
    (embedding,) = [sums[path] for path in paths if path.endswith("embeddings")]
    used = np.unique([batch["token_ids"], batch["token_ids_reverse"]])
    unused = [row for row in range(len(SMALL)) if row not in used]
    assert len(unused) > 0
    before = arrays["lm/embedding/Adagrad"]
    np.testing.assert_array_equal(embedding[1:][unused], before[unused])
    assert (embedding[1:][used] >= before[used]).all()
    assert RunFolder.open(run).load_model().bilm.bidirectional


@pytest.mark.parametrize(
    "more, message",
    [
        (["--units", "3", "--tie-embeddings"], "--units cannot be combined with --init"),
        (["--size", "elmo_small"], "--size cannot be combined with --init"),
        (["--init", "no/such/place"], "no/such/place does not exist"),
    ],
)
def test_what_cannot_be(trained, corpus, tmp_path, capsys, more, message):
    line = flags(corpus, tmp_path / "run", "--init", trained, *more, sizes=[])
    assert main(line) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
