"""Times KerasHub on request: a peer of benchmarks/bert.py.

    keras-hub/bin/python -m benchmarks.peer_keras_hub encode '{"vocabulary_size": 30522, ...}' 8

On TensorFlow, in a graph; training by `train_on_batch` of its masked language model.
"""

import json
import sys

from benchmarks.peer_loop import answer

LENGTH, MASKED = 128, 20


def main(argv=None):
    task, shape, texts = sys.argv[1:] if argv is None else argv
    answer(prepare(task, json.loads(shape), int(texts)))
    return 0


def prepare(task, shape, texts):
    """The call to time."""
    import keras
    import keras_hub
    import numpy as np
    import tensorflow as tf

    backbone = keras_hub.models.BertBackbone(
        vocabulary_size=shape["vocabulary_size"],
        num_layers=shape["num_layers"],
        num_heads=shape["num_heads"],
        hidden_dim=shape["units"],
        intermediate_dim=4 * shape["units"],
    )
    rng = np.random.default_rng(0)
    ids = rng.integers(5, 30000, [texts, LENGTH]).astype("int32")
    inputs = {"token_ids": ids, "segment_ids": 0 * ids, "padding_mask": 0 * ids + 1}
    if task == "encode":
        encode = tf.function(lambda x: backbone(x, training=False)["sequence_output"])
        inputs = {name: tf.constant(array) for name, array in inputs.items()}
        return lambda: encode(inputs).numpy()
    model = keras_hub.models.BertMaskedLM(backbone=backbone, preprocessor=None)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-4), loss=loss)
    places = np.sort(rng.permuted(np.tile(np.arange(LENGTH), (texts, 1)), axis=1)[:, :MASKED])
    inputs["mask_positions"] = places.astype("int32")
    labels = np.take_along_axis(ids, places, 1)
    return lambda: model.train_on_batch(inputs, labels)


if __name__ == "__main__":
    raise SystemExit(main())
