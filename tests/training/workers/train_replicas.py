"""Trains models by Keras's `fit` on one device and on replicas, and prints both results as JSON.

Usage: python -m tests.training.workers.train_replicas NUMBER_OF_REPLICAS [--gradients] MODEL...

With --gradients, only the gradients of one step are compared.
"""

import contextlib
import json
import sys

import keras
import numpy as np
import tensorflow as tf

from tests.training.workers.replica_models import batches_of, new_model


def results_of(name, scope):
    """Returns the losses of all steps, the logs of `fit` and `evaluate`, and the weights."""
    model = new_model(name, scope)
    data, losses = batches_of(name), []
    keep = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda step, logs: losses.append(model.get_metrics_result())
    )
    history = model.fit(data, shuffle=False, verbose=0, callbacks=[keep]).history
    evaluated = model.evaluate(data, verbose=0, return_dict=True)
    losses = [{name: float(value) for name, value in each.items()} for each in losses]
    return losses, {n: v[0] for n, v in history.items()}, evaluated, weights_of(model)


def gradient_of(name, scope):
    """Returns the gradient of the first step over all weights, as one float64 vector."""
    model = new_model(name, scope, lambda: keras.optimizers.SGD(1.0, momentum=0.5))
    model.run_eagerly = isinstance(scope, contextlib.nullcontext)  # cheaper than a second graph
    model.fit(batches_of(name, steps=1), shuffle=False, verbose=0)
    momentums = model.optimizer.momentums  # minus the gradient, after one step
    return np.concatenate([each.numpy().ravel().astype("float64") for each in momentums])


def weights_of(model):
    """Returns the arrays of all variables of the model except random seeds."""
    return [v.numpy() for v in model.variables if "seed" not in v.path]


def greatest_difference(one, other):
    pairs = zip(one, other, strict=True)
    return max(float(np.max(np.abs(a.astype("float64") - b))) for a, b in pairs if a.size)


def main(num_replicas, *names):
    cpu = tf.config.list_physical_devices("CPU")[0]
    logical = [tf.config.LogicalDeviceConfiguration()] * num_replicas
    tf.config.set_logical_device_configuration(cpu, logical)
    strategy = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(num_replicas)])
    if names[0] == "--gradients":
        for name in names[1:]:
            one = gradient_of(name, contextlib.nullcontext())
            difference = np.linalg.norm(gradient_of(name, strategy.scope()) - one)
            print(json.dumps({"model": name, "difference": difference / np.linalg.norm(one)}))
        return
    one = {name: results_of(name, contextlib.nullcontext()) for name in names}
    for name in names:
        *logs, weights = results_of(name, strategy.scope())
        difference = greatest_difference(one[name][-1], weights)
        result = {"model": name, "one": one[name][:-1], "replicas": logs, "weights": difference}
        print(json.dumps(result))


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
