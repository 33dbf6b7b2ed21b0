"""Formulas of ELMo in plain TensorFlow in float64, without masks, for gradients."""

import tensorflow as tf


def as_tensors(weights):
    return {name: tf.constant(array, "float64") for name, array in weights.items()}


def token_vectors(w, options, rows):
    """Computes vectors `[N, P]` from bilm-tf's training ids `[N, C]`, counted from 0."""
    if "char_cnn" not in options:
        return tf.gather(w["embedding"], rows)
    cnn, parts = options["char_cnn"], []
    x = tf.gather(w["char_embed"], rows)  # [N, C, c]
    for i in range(len(cnn["filters"])):
        y = tf.nn.conv1d(x, w[f"CNN/W_cnn_{i}"][0], 1, "VALID") + w[f"CNN/b_cnn_{i}"]
        parts.append(tf.reduce_max(y, axis=1))
    activation = tf.nn.relu if cnn["activation"] == "relu" else tf.tanh
    x = activation(tf.concat(parts, -1))
    for i in range(cnn["n_highway"]):
        p = {name: w[f"CNN_high_{i}/{name}"] for name in HIGHWAY}
        gate = tf.sigmoid(x @ p["W_carry"] + p["b_carry"])
        x = gate * tf.nn.relu(x @ p["W_transform"] + p["b_transform"]) + (1.0 - gate) * x
    return x @ w["CNN_proj/W_proj"] + w["CNN_proj/b_proj"] if "CNN_proj/W_proj" in w else x


HIGHWAY = "W_carry", "b_carry", "W_transform", "b_transform"


def lstm(x, hidden, cell, kernel, bias, projection, cell_clip, projection_clip, mask=None):
    """Computes a layer over `x` `[T, B, P]` with gates i, j, f, o: outputs and last state."""
    outputs = []
    for t in range(x.shape[0]):
        i, j, f, o = tf.split(tf.concat([x[t], hidden], 1) @ kernel + bias, 4, axis=1)
        c = clip(tf.sigmoid(f + 1.0) * cell + tf.sigmoid(i) * tf.tanh(j), cell_clip)
        h = tf.sigmoid(o) * tf.tanh(c)
        if projection is not None:
            h = clip(h @ projection, projection_clip)
        if mask is None:
            hidden, cell = h, c
            outputs.append(h)
        else:
            hidden, cell = tf.where(mask[t] > 0, h, hidden), tf.where(mask[t] > 0, c, cell)
            outputs.append(tf.where(mask[t] > 0, h, tf.zeros_like(h)))
    return tf.stack(outputs), hidden, cell


def clip(x, bound):
    return x if bound is None else tf.clip_by_value(x, -bound, bound)


def language_model(w, options, rows, direction, state=None):
    """Computes the top layer `[B, T, P]` of one direction over `rows`, and its last state."""
    sizes = options["lstm"]
    flat = tf.reshape(rows, [-1, *rows.shape[2:]])
    x = tf.reshape(token_vectors(w, options, flat), [*rows.shape[:2], sizes["projection_dim"]])
    x = tf.transpose(x, [1, 0, 2])  # [T, B, P]
    if state is None:
        zeros = [tf.zeros([rows.shape[0], sizes[k]], "float64") for k in ("projection_dim", "dim")]
        state = [zeros] * sizes["n_layers"]
    new_state = []
    for layer in range(sizes["n_layers"]):
        name = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell/"
        weights = w[name + "W_0"], w[name + "B"], w.get(name + "W_P_0")
        clips = sizes["cell_clip"], sizes["proj_clip"]
        y, *last = lstm(x, *state[layer], *weights, *clips)
        x = y + x if sizes["use_skip_connections"] and layer > 0 else y
        new_state.append(last)
    return tf.transpose(x, [1, 0, 2]), new_state


def full_softmax_nll(x, kernel, bias, targets):
    """Computes the losses `[N]` from `x` `[N, D]`, `kernel` `[V, D]`, `targets` `[N]`."""
    logits = x @ tf.transpose(kernel) + bias
    return tf.reduce_logsumexp(logits, -1) - tf.gather(logits, targets, batch_dims=1)


def sampled_softmax_nll(x, kernel, bias, targets, negatives, tries):
    """Computes TensorFlow's loss on given negatives, without accidental hits."""
    size = kernel.shape[0]

    def expected(ids):
        ids = tf.cast(ids, "float64")
        p = tf.math.log((ids + 2.0) / (ids + 1.0)) / tf.math.log(tf.constant(size + 1.0, "float64"))
        return 1.0 - (1.0 - p) ** tf.cast(tries, "float64")

    targets = tf.cast(targets, "int64")[:, None]
    return tf.nn.sampled_softmax_loss(
        kernel,
        bias,
        targets,
        x,
        num_sampled=len(negatives),
        num_classes=size,
        sampled_values=(negatives, expected(targets), expected(negatives)),
        remove_accidental_hits=True,
    )
