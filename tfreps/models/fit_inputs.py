"""Checks the arguments x and y of fit and evaluate, which Keras rejects without saying why."""

CONVERT = "tfreps.data.SequenceBatches(tokens, targets, indexer).dataset()"


def check_fit_inputs(x, y) -> None:
    """Checks that `x` and `y` are neither plain lists nor names of labels or tags.

    Args:
        x: First argument of `keras.Model.fit` or `keras.Model.evaluate`.
        y: Second argument.

    Raises:
        ValueError: If `x` or `y` cannot be converted to tensors. The message says what to do.

    Example:
    >>> check_fit_inputs(None, ["good", "bad"])
    Traceback (most recent call last):
    ValueError: `y` must be an array or tensor of integer ids; got a list of str. ...
    """
    if callable(getattr(x, "dataset", None)):
        kind = type(x).__name__
        raise ValueError(f"`x` must be a tf.data.Dataset; got a {kind}. Pass its `dataset()`.")
    if _names(x) or _is_plain(x):
        raise ValueError(
            "`x` must be an array or tensor of features, a dict of them, or a tf.data.Dataset; got "
            f"{_kind(x)}. Convert tokens with `{CONVERT}`."
        )
    if _names(y) or _is_plain(y):
        raise ValueError(
            f"`y` must be an array or tensor of integer ids; got {_kind(y)}. Replace each name by "
            "its position in the list `classes` of the model, and a list by `np.array(y)`."
        )


def _is_plain(value) -> bool:
    """Returns True for a str, and for a list or tuple whose first item is no array or tensor."""
    is_list = isinstance(value, list | tuple) and value and not hasattr(value[0], "shape")
    return isinstance(value, str) or bool(is_list)


def _names(value) -> bool:
    return getattr(getattr(value, "dtype", None), "kind", "") in ("O", "S", "U")


def _kind(value) -> str:
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} of {type(value[0]).__name__}"
    return "a str" if isinstance(value, str) else f"values of dtype {value.dtype}"
