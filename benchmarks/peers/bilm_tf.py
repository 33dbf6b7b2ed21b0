"""Times bilm-tf's graph for benchmarks/elmo.py: the operations of a biLM as TensorFlow 1 ran them.

The arguments of `prepare` are the task (embed or train), the size of the model, and the numbers of
rows and of tokens per row. The graph has the sizes and operations of bilm-tf, in the same order: a
convolution and a maximum for each filter, highway layers, `LSTMCell` with projection and clipping
under `dynamic_rnn` (embed) or unrolled (train), a sampled softmax and Adagrad. All matrix
multiplications are float32. The weights are random, and the text is that of benchmarks/elmo.py. The
environment has TensorFlow and tf-keras, which contains `LSTMCell`, but not tfreps.
"""

import itertools
import os
from collections import Counter

from benchmarks.topics_text import tokens

FILTERS = [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]]
# Size -> number of units, width of the projection, number of highway layers.
SIZES = {"elmo_original": (4096, 512, 2), "elmo_small": (1024, 128, 1)}
CHARACTERS, CHARACTER_IDS, CHARACTER_DIM = 50, 262, 16
VOCABULARY, NEGATIVES, DROPOUT = 4158, 2048, 0.1
BATCHES = 20


def prepare(task, size, rows, length):
    """Returns a function that runs the next batch."""
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    make = {"embed": embedding, "train": training}[task]
    fetch, feeds = make(tf, SIZES[size], rows, length)
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    turns = itertools.cycle(feeds)
    return lambda: session.run(fetch, next(turns))


def embedding(tf, sizes, rows, length):
    """Returns the vectors of all layers, and batches of sentences of equal length."""
    characters = tf.placeholder("int32", [None, None, CHARACTERS])
    lengths = tf.placeholder("int32", [None])
    x = token_vectors(tf, characters, sizes)
    reverse = tf.reverse_sequence(x, lengths, 1, 0)
    ahead = lstm_layers(tf, x, sizes, "forward", lengths)
    back = lstm_layers(tf, reverse, sizes, "backward", lengths)
    back = [tf.reverse_sequence(y, lengths, 1, 0) for y in back]
    pairs = [(x, x), *zip(ahead, back, strict=True)]
    table, ids = text_ids()
    feeds = [
        {characters: table[batch], lengths: [length] * rows}
        for batch in batches(ids, rows, length, 0)
    ]
    return tf.stack([tf.concat(pair, 2) for pair in pairs], 1), feeds


def training(tf, sizes, rows, length):
    """Returns a training step of both directions, and batches of text."""
    table, ids = text_ids()
    kernel = tf.get_variable("softmax", [VOCABULARY, sizes[1]])
    bias = tf.get_variable("softmax_bias", [VOCABULARY])
    inputs, targets, losses = [], [], []
    for name in ("forward", "backward"):
        inputs.append(tf.placeholder("int32", [rows, length, CHARACTERS]))
        targets.append(tf.placeholder("int64", [rows, length]))
        with tf.variable_scope("tokens", reuse=tf.AUTO_REUSE):
            x = token_vectors(tf, inputs[-1], sizes)
        top = lstm_layers(tf, tf.nn.dropout(x, rate=DROPOUT), sizes, name, unrolled=True)[-1]
        top = tf.reshape(tf.nn.dropout(top, rate=DROPOUT), [-1, sizes[1]])
        target = tf.reshape(targets[-1], [-1, 1])
        loss = tf.nn.sampled_softmax_loss(kernel, bias, target, top, NEGATIVES, VOCABULARY)
        losses.append(tf.reduce_mean(loss))
    optimizer = tf.train.AdagradOptimizer(0.2, initial_accumulator_value=1.0)
    gradients, weights = zip(*optimizer.compute_gradients(sum(losses) * length / 2), strict=True)
    gradients, _ = tf.clip_by_global_norm(gradients, 10.0)
    step = optimizer.apply_gradients(zip(gradients, weights, strict=True))
    feeds = []
    for batch in batches(ids, rows, length, 1):
        back = batch[:, ::-1]
        feeds.append(
            {
                inputs[0]: table[batch[:, :-1]],
                targets[0]: batch[:, 1:],
                inputs[1]: table[back[:, :-1]],
                targets[1]: back[:, 1:],
            }
        )
    return step, feeds


def token_vectors(tf, characters, sizes):
    """Returns the vectors of tokens from their characters, `[B, T, 50]` to `[B, T, P]`."""
    _, projection, num_highways = sizes
    x = tf.nn.embedding_lookup(
        tf.get_variable("characters", [CHARACTER_IDS, CHARACTER_DIM]), characters
    )
    maxima = []
    for number, (width, count) in enumerate(FILTERS):
        kernel = tf.get_variable(f"filter_{number}", [1, width, CHARACTER_DIM, count])
        y = tf.nn.conv2d(x, kernel, [1, 1, 1, 1], "VALID")
        y += tf.get_variable(f"filter_{number}_bias", [count])
        y = tf.nn.max_pool(y, [1, 1, CHARACTERS - width + 1, 1], [1, 1, 1, 1], "VALID")
        maxima.append(tf.squeeze(tf.nn.relu(y), [2]))
    dim = sum(count for _, count in FILTERS)
    y = tf.reshape(tf.concat(maxima, 2), [-1, dim])
    for number in range(num_highways):
        carry = tf.sigmoid(dense(tf, y, dim, f"carry_{number}"))
        y = carry * tf.nn.relu(dense(tf, y, dim, f"transform_{number}")) + (1.0 - carry) * y
    y = dense(tf, y, projection, "projection")
    return tf.reshape(y, [*tf.unstack(tf.shape(characters)[:2]), projection])


def dense(tf, x, dim, name):
    kernel = tf.get_variable(f"{name}_kernel", [x.shape[1], dim])
    return tf.matmul(x, kernel) + tf.get_variable(f"{name}_bias", [dim])


def lstm_layers(tf, x, sizes, name, lengths=None, unrolled=False):
    """Returns the outputs of two layers in one direction, the second with a skip connection."""
    units, projection, _ = sizes
    outputs = []
    for layer in range(2):
        cell = tf.nn.rnn_cell.LSTMCell(units, num_proj=projection, cell_clip=3.0, proj_clip=3.0)
        with tf.variable_scope(f"{name}_{layer}"):
            if unrolled:
                dropped = tf.nn.dropout(x, rate=DROPOUT) if layer else x
                steps, _ = tf.nn.static_rnn(cell, tf.unstack(dropped, axis=1), dtype="float32")
                y = tf.stack(steps, axis=1)
            else:
                y, _ = tf.nn.dynamic_rnn(cell, x, sequence_length=lengths, dtype="float32")
        x = y + x if layer else y
        outputs.append(x)
    return outputs


def text_ids():
    """Returns the character ids of the most frequent words, and the text as numbers of words."""
    import numpy as np

    words = tokens()
    number = {word: n for n, (word, _) in enumerate(Counter(words).most_common(VOCABULARY))}
    table = np.full([VOCABULARY, CHARACTERS], 260)
    for word, row in number.items():
        ids = [258, *word.encode()[: CHARACTERS - 2], 259]
        table[row, : len(ids)] = ids
    return table + 1, np.array([number[word] for word in words if word in number])


def batches(ids, rows, length, more):
    """Returns arrays `[rows, length + more]` of consecutive words."""
    size = length + more
    starts = [n * length % (len(ids) - size) for n in range(BATCHES * rows)]
    return [ids[[range(s, s + size) for s in starts[n::BATCHES]]] for n in range(BATCHES)]
