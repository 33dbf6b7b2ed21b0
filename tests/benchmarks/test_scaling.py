"""The benchmark of workers: its models train, its gradients are counted, its rows printed."""

import json
import types

import numpy as np
import pytest
import tensorflow as tf

from benchmarks import reductions, scaling, scaling_models
from tfreps._src.models.sizes import ELMO
from tfreps._src.optimizers import summed_gradients
from tfreps.training.loop.replica_loop import ReplicaLoop


def test_each_row_runs_in_its_own_workers(capsys, monkeypatch):
    def run_workers(command, addresses, environ, outputs):
        started.append((command[command.index("--measure") + 1], len(addresses)))
        assert environ["TF_NUM_INTRAOP_THREADS"] == environ["OMP_NUM_THREADS"] == "1"
        row = {"model": started[-1][0], "workers": len(addresses), "rows": 4}
        row |= {"steps_per_second": 2.0, "step_seconds": 0.5, "reduce_seconds": 0.1}
        with open(command[command.index("--result") + 1], "w", encoding="utf-8") as file:
            json.dump({**row, "dense_bytes": 2_500_000, "sparse_bytes": 40_000}, file)
        return types.SimpleNamespace(code=0)

    started = []
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setattr(scaling, "run_workers", run_workers)
    assert scaling.main(["--workers", "1", "2", "--rows", "4"]) == 0
    assert started == [("bilm", 1), ("bilm", 2), ("bert", 1), ("bert", 2)]
    assert "| bert | 2 | 4 | 2.00 | 0.50 | 2.5 | 0.0 | 0.100 | 20% |" in capsys.readouterr().out
    failed = types.SimpleNamespace(code=1, failure="Worker 1 ended with exit code 1.")
    monkeypatch.setattr(scaling, "run_workers", lambda *_: failed)
    with pytest.raises(SystemExit, match="bert with 2 workers failed: Worker 1 ended"):
        scaling.main(["--workers", "2", "--model", "bert"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bilm", "bert"])
def test_models_train_on_their_batches(name, monkeypatch):
    sizes = {"filters": [[1, 8], [2, 8]], "num_highways": 1, "units": 16, "projection_dim": 4}
    monkeypatch.setitem(ELMO, "elmo_small", sizes)
    bert = {"hidden_dim": 8, "num_layers": 1, "num_heads": 2, "max_sequence_length": 64}
    monkeypatch.setattr(scaling_models, "BERT", bert)
    monkeypatch.setattr(scaling_models, "VOCABULARY", 300)
    monkeypatch.setattr(scaling_models, "NEGATIVES", 50)
    model, data = scaling_models.make(name, 4, tf.distribute.get_strategy())
    before = [variable.numpy() for variable in model.trainable_variables]
    monkeypatch.setattr(scaling_models.time, "perf_counter", iter([0, 9, 18, 20, 23]).__next__)
    assert scaling_models.seconds_per_step(ReplicaLoop(model), data, steps=2) == 2.5
    after = [variable.numpy() for variable in model.trainable_variables]
    assert np.mean([np.any(a != b) for a, b in zip(before, after, strict=True)]) > 0.9


def test_gradients_of_each_step_are_recorded_and_counted(monkeypatch):
    slices = tf.IndexedSlices(tf.ones([5, 2]), tf.range(5, dtype="int64"), tf.constant([9, 2]))
    given = [tf.ones([3, 4]), slices]
    assert reductions.count_bytes(given) == (3 * 4 * 4, 5 * 2 * 4 + 5 * 8)
    with reductions.recorded_gradients() as steps, monkeypatch.context() as patch:
        patch.setattr(reductions, "num_replicas", lambda: 2)
        patch.setattr(summed_gradients, "num_replicas", lambda: 1)
        summed_gradients.sum_gradients([given[0], None, slices])
    assert len(steps) == 1 and len(steps[0]) == 2
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    assert reductions.seconds_to_reduce(strategy, given, 3, "bfloat16") > 0
