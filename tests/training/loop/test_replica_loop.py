import keras
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tests.training.workers.replica_models import NUM_STEPS, batches_of, new_model
from tfreps.training.loop.replica_loop import ReplicaLoop, rows_of_replica


@pytest.mark.slow
@pytest.mark.parametrize("name", ["classifier", "bilm", "tagger"])
def test_one_replica_does_what_fit_does(name):
    fitted = new_model(name, tf.distribute.get_strategy().scope())
    history = fitted.fit(batches_of(name, 6), shuffle=False, verbose=0).history
    measured = fitted.evaluate(batches_of(name, 4), return_dict=True, verbose=0)
    model = new_model(name, tf.distribute.get_strategy().scope())
    logs = {}
    keep = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs_: None)
    keep.on_epoch_end = lambda epoch, found: logs.update(found)
    ReplicaLoop(model).fit_epoch(batches_of(name, 6), 6, [keep], 0, batches_of(name, 4))
    expected = {name: values[0] for name, values in history.items()}
    expected |= {f"val_{name}": value for name, value in measured.items()}
    assert_close(logs, expected)
    for a, b in zip(model.get_weights(), fitted.get_weights(), strict=True):
        assert_close(a, b)  # another graph, other rounding


@pytest.mark.slow
def test_stops_when_a_callback_asks():
    model = new_model("classifier", tf.distribute.get_strategy().scope())
    seen = []

    class Stop(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            seen.append(batch)
            self.model.stop_training = batch == 1

    ReplicaLoop(model).fit_epoch(batches_of("classifier"), NUM_STEPS, [Stop()], 0)
    assert seen == [0, 1]


def test_shared_features_are_not_divided():
    batch = {"rows": tf.range(6), "words": tf.range(3)}, tf.zeros([6, 2])
    features, targets = rows_of_replica(batch, shared=("words",))
    assert features["words"] is batch[0]["words"]
    assert features["rows"].shape == [6] and targets.shape == [6, 2]
