"""Draws attention maps, which show how much each token attends to each token."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tfreps._src.plots.fonts import Fonts
from tfreps._src.plots.matrices import matrix_figure

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike


def attention_figure(
    probabilities: "ArrayLike",
    tokens: Sequence[str],
    layer: int | None = None,
    head: int | None = None,
    fonts: Fonts | None = None,
) -> "Figure":
    """Draws how much each token of a text (row) attends to each token (column).

    Args:
        probabilities: Float array of shape `[L, H, T, T]` (layer, head, from, to): the attention
            probabilities of one text, for example `encoder.attention(features)[0]`.
        tokens: list of T str. The tokens of the text.
        layer: int. The encoder layer, counted from 1. If `None` (the default), the mean over all
            layers is drawn.
        head: int. The attention head, counted from 1. If `None` (the default), the mean over all
            heads is drawn.
        fonts: `Fonts` for the tokens. If `None`, suitable fonts are searched for, with a warning
            about characters that no font has. Defaults to `None`.

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        ValueError: If there is no such layer or head, if `probabilities` does not have four axes,
            if the number of `tokens` is not T, or if matplotlib is not installed.

    Reference: aespresso/a_journey_into_math_of_ml, "attention_visualization.py".

    Example:
    >>> import numpy as np
    >>> figure = attention_figure(np.full([6, 12, 2, 2], 0.5), ["a", "b"], layer=3)
    >>> figure.axes[0].get_title()
    'attention: layer 3, mean of 12 heads'
    """
    import numpy as np

    values = select_attention(probabilities, layer, head)
    if len(tokens) != len(values):
        raise ValueError(
            f"`tokens` must contain {len(values)} tokens, one per row of the attention; got "
            f"{len(tokens)}."
        )
    num_layers, num_heads, *_ = np.shape(probabilities)
    return matrix_figure(
        values,
        tokens,
        tokens,
        x_label="attended token",
        y_label="attending token",
        title=f"attention: {_described(layer, head, num_layers, num_heads)}",
        limits=(0.0, max(float(values.max()), 1e-6)),
        fonts=fonts,
    )


def select_attention(
    probabilities: "ArrayLike", layer: int | None = None, head: int | None = None
) -> "np.ndarray":
    """Returns the attention of one layer and head, or the mean over all layers, heads or both.

    Args:
        probabilities: Float array of shape `[L, H, T, T]` (layer, head, from, to).
        layer: int. The encoder layer, counted from 1. If `None`, the mean over all layers is
            returned. Defaults to `None`.
        head: int. The attention head, counted from 1. If `None`, the mean over all heads is
            returned. Defaults to `None`.

    Returns:
        A float64 array of shape `[T, T]`.

    Raises:
        ValueError: If there is no such layer or head, or `probabilities` does not have four axes.

    Example:
    >>> import numpy as np
    >>> attention = np.arange(8.0).reshape(2, 2, 1, 2)
    >>> select_attention(attention, layer=2, head=1).tolist()
    [[4.0, 5.0]]
    >>> select_attention(attention, head=1).tolist()
    [[2.0, 3.0]]
    """
    import numpy as np

    values = np.asarray(probabilities, "float64")
    if values.ndim != 4:
        raise ValueError(
            "`probabilities` must have the shape [layers, heads, tokens, tokens]; got "
            f"{values.shape}."
        )
    for name, number, count in ("layer", layer, len(values)), ("head", head, values.shape[1]):
        if number is not None and not 1 <= number <= count:
            raise ValueError(
                f"`{name}` must be in [1, {count}]; got {number}. Omit `{name}` for the mean "
                f"over all {name}s."
            )
    values = values.mean(axis=0) if layer is None else values[layer - 1]  # [H, T, T]
    return values.mean(axis=0) if head is None else values[head - 1]  # [T, T]


def _described(layer: int | None, head: int | None, num_layers: int, num_heads: int) -> str:
    if layer is None and head is None:
        return f"mean of {num_layers} layers and {num_heads} heads"
    layers = f"mean of {num_layers} layers" if layer is None else f"layer {layer}"
    heads = f"mean of {num_heads} heads" if head is None else f"head {head}"
    return f"{layers}, {heads}"
