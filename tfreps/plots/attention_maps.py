"""Pictures of attention: which token reads how much of which."""

from tfreps.plots.matrices import matrix_figure


def attention_figure(probabilities, tokens, layer=None, head=None, fonts=None):
    """Draws how much each token of a text (row) reads of each other (column).

    Args:
        probabilities: float, shape `[L, H, T, T]` (layer, head, from, to), as one text's
            `encoder.attention(features)`.
        tokens: T str.
        layer: int. The block, counted from 1; None for the mean over all of them.
        head: int. The attention head, counted from 1; None for the mean over all of them.
        fonts: `Fonts` that have the characters of the tokens; None to look for them, and to warn
            of those that no font has.

    Returns:
        `matplotlib.figure.Figure`.

    Raises:
        ValueError: no such layer or head, or arrays of other shapes.

    Reference: aespresso/a_journey_into_math_of_ml, "attention_visualization.py".

    Example:
    >>> import numpy as np
    >>> figure = attention_figure(np.full([6, 12, 2, 2], 0.5), ["a", "b"], layer=3)
    >>> figure.axes[0].get_title()
    'attention: layer 3, mean of 12 heads'
    """
    values = chosen_attention(probabilities, layer, head)
    if len(tokens) != len(values):
        raise ValueError(
            f"Expected a token for each row of the attention, {len(values)}; got {len(tokens)}."
        )
    num_layers = len(probabilities)
    num_heads = len(probabilities[0])
    texts = {"x": "token that is read", "y": "token that reads"}
    texts["title"] = f"attention: {_said(layer, head, num_layers, num_heads)}"
    limits = (0.0, max(float(values.max()), 1e-6))
    return matrix_figure(values, tokens, tokens, **texts, limits=limits, fonts=fonts)


def chosen_attention(probabilities, layer=None, head=None):
    """The attention of one layer and head, or the mean over all layers, heads, or both.

    Args:
        probabilities: float, shape `[L, H, T, T]`.
        layer, head: int, counted from 1; None for the mean.

    Returns:
        float64, shape `[T, T]`.

    Raises:
        ValueError: no such layer or head, or another shape.

    Example:
    >>> import numpy as np
    >>> attention = np.arange(8.0).reshape(2, 2, 1, 2)
    >>> chosen_attention(attention, layer=2, head=1).tolist()
    [[4.0, 5.0]]
    >>> chosen_attention(attention, head=1).tolist()
    [[2.0, 3.0]]
    """
    import numpy as np

    values = np.asarray(probabilities, "float64")
    if values.ndim != 4:
        raise ValueError(
            "Expected attention probabilities of one text, [layers, heads, tokens, tokens]; got "
            f"the shape {values.shape}."
        )
    for name, number, count in ("layer", layer, len(values)), ("head", head, values.shape[1]):
        if number is not None and not 1 <= number <= count:
            raise ValueError(
                f"There are {count} {name}s, counted from 1; got {name} {number}. "
                "Leave it out for the mean over all."
            )
    values = values.mean(axis=0) if layer is None else values[layer - 1]  # [H, T, T]
    return values.mean(axis=0) if head is None else values[head - 1]  # [T, T]


def _said(layer, head, num_layers, num_heads):
    if layer is None and head is None:
        return f"mean of {num_layers} layers and {num_heads} heads"
    layers = f"mean of {num_layers} layers" if layer is None else f"layer {layer}"
    heads = f"mean of {num_heads} heads" if head is None else f"head {head}"
    return f"{layers}, {heads}"
