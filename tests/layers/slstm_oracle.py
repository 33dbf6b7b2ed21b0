"""SLSTM by docs/by_hand/slstm.py, with the names of its weights and the ends that it leaves out."""

import numpy as np

from docs.by_hand import slstm

ENDS = [0, -1]


def arrays(layer):
    """Returns the weights of an `SLSTM` or `SLSTMCell` by their names, in float64."""
    return {weight.name: weight.numpy().astype("float64") for weight in layer.trainable_weights}


def named(arrays, window, neighbors):
    """Returns the matrices of the gates by their names in the paper, from the library's arrays."""
    hidden, cells = slstm.groups(window, neighbors)
    H = len(arrays["recurrent_kernel"]) // len(hidden)
    own = ["s" + "'" * n for n in range(len(arrays.get("sentence_bias", [])))]
    gates = ["i", *cells, *own, "o", "u"][: len(arrays["bias"]) // H]

    def parts(array, names):  # columns n H to (n + 1) H belong to name n
        return {k: array[..., n * H : (n + 1) * H].T for n, k in enumerate(names)}

    nodes = []
    for n, s in enumerate(own):
        read = [k for k in gates if k == s or k not in own]
        V = parts(arrays["sentence_kernel"][n], [*read, "W_g", "W_o", "W_f"])
        W = {k: V.pop(f"W_{k}") for k in "gof"}
        U = parts(arrays["mean_kernel"][n], "go") | {"f": parts(arrays["word_kernel"], own)[s]}
        nodes.append({"V": V, "W": W, "U": U, "b": parts(arrays["sentence_bias"][n], "gof")})
    names = {"W": "recurrent_kernel", "U": "kernel", "b": "bias"}
    return {
        **arrays,
        **{k: parts(arrays[name], gates) for k, name in names.items()},
        "nodes": nodes,
    }


def states(x, arrays, options):
    """Computes the hidden states of the words `[n, H]` and of the nodes `[S, H]` of an `SLSTM`.

    Adds two values of the options: with `boundary="fixed"`, the states at the ends never change,
    and with `initial_state="learned_separately"`, the nodes have initial states of their own.
    """
    weights = named(arrays, options["window"], options["neighbors"])
    num_steps, is_fixed = options["num_steps"], options["boundary"] == "fixed"
    is_separate = options["initial_state"] == "learned_separately"
    if not (is_fixed or is_separate):
        return slstm.slstm(x, weights, num_steps, options)
    if is_fixed:
        x = np.pad(x, [(1, 1), (0, 0)])
    if is_separate:
        options = {**options, "initial_state": "learned"}
    x, h, c, g, c_g = slstm.start(x, weights, options)
    if is_fixed:
        h[ENDS], c[ENDS] = arrays["boundary_hidden"], arrays["boundary_cell"]
    if is_separate and len(g):
        g, c_g = arrays["initial_sentence_hidden"], arrays["initial_sentence_cell"]
    elif options["initial_state"] == "embedding":
        g[:], c_g[:] = h.mean(axis=0), c.mean(axis=0)
    for _ in range(num_steps):
        h, c, g, c_g = slstm.step(x, h, c, g, c_g, weights, options)
        if is_fixed:
            h[ENDS], c[ENDS] = arrays["boundary_hidden"], arrays["boundary_cell"]
    return (h if options["boundary"] == "zeros" else h[1:-1]), g
