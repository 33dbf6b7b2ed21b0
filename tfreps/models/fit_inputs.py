"""Checks the argument x of fit and evaluate, which Keras rejects without saying what to do."""

CONVERT = "tfreps.data.SequenceBatches(tokens, targets, indexer).dataset()"


def check_fit_inputs(x) -> None:
    """Raises a ValueError for text, a list of texts or tokens, and a `SequenceBatches`.

    >>> check_fit_inputs(["a good film"])
    Traceback (most recent call last):
    ValueError: `x` must be an array or tensor ...; got a list of str. ...
    """
    if callable(getattr(x, "dataset", None)):
        kind = type(x).__name__
        raise ValueError(f"`x` must be a tf.data.Dataset; got a {kind}. Pass its `dataset()`.")
    is_list = isinstance(x, list | tuple) and x and not hasattr(x[0], "shape")
    is_text = getattr(getattr(x, "dtype", None), "kind", "") in ("O", "S", "U")
    if is_list or is_text or isinstance(x, str):
        kind = f"{type(x).__name__} of {type(x[0]).__name__}" if is_list else type(x).__name__
        raise ValueError(
            "`x` must be an array or tensor of features, a dict of them, or a tf.data.Dataset; got "
            f"a {kind}. Convert tokens with `{CONVERT}`."
        )
