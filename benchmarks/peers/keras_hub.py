"""Times KerasHub for benchmarks/bert.py.

The job is described in benchmarks/bert.py. The backend is TensorFlow. Encoding runs in a graph, and
training calls `train_on_batch`.
"""

from benchmarks.review_lengths import padded_batches, random_texts

MASKED = 20


def prepare(job):
    """Returns the function to time."""
    import keras
    import keras_hub
    import numpy as np
    import tensorflow as tf

    if job["precision"] == "bfloat16":
        keras.config.set_dtype_policy("mixed_bfloat16")
    task, shape, texts, length = (job[name] for name in ("task", "shape", "texts", "length"))
    backbone = keras_hub.models.BertBackbone(
        vocabulary_size=shape["vocabulary_size"],
        num_layers=min(shape["num_layers"], 3) if task == "tune" else shape["num_layers"],
        num_heads=shape["num_heads"],
        hidden_dim=shape["hidden_dim"],
        intermediate_dim=4 * shape["hidden_dim"],
    )
    if task == "tune":
        return make_tune(keras_hub.models.BertTextClassifier(backbone, 2), job)
    rng = np.random.default_rng(0)
    ids = rng.integers(5, 30000, [texts, length]).astype("int32")
    inputs = {"token_ids": ids, "segment_ids": 0 * ids, "padding_mask": 0 * ids + 1}
    if task == "encode":
        encode = tf.function(lambda x: backbone(x, training=False)["sequence_output"])
        inputs = {name: tf.constant(array) for name, array in inputs.items()}
        return lambda: encode(inputs).numpy()
    model = keras_hub.models.BertMaskedLM(backbone=backbone, preprocessor=None)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-4), loss=loss)
    positions = np.sort(rng.permuted(np.tile(np.arange(length), (texts, 1)), axis=1)[:, :MASKED])
    inputs["mask_positions"] = positions.astype("int32")
    labels = np.take_along_axis(ids, positions, 1)
    return lambda: model.train_on_batch(inputs, labels)


def make_tune(model, job):
    """Returns a function that trains a classifier for one epoch on random texts."""
    import keras
    import numpy as np

    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-4), loss=loss)
    texts = random_texts(job["texts"], 30000)
    batches = [np.array(ids, "int32") for ids in padded_batches(texts, job["by_length"])]

    def train():
        for ids in batches:
            inputs = {"token_ids": ids, "segment_ids": 0 * ids, "padding_mask": (ids > 0) * 1}
            model.train_on_batch(inputs, np.arange(len(ids)) % 2)

    return train
