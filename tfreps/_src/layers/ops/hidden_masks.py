"""Checks of the masks that Keras computes itself in functional models."""

import keras

_MERGING = (
    keras.layers.Add,
    keras.layers.Average,
    keras.layers.Concatenate,
    keras.layers.Maximum,
    keras.layers.Minimum,
    keras.layers.Multiply,
    keras.layers.Subtract,
)
BY_NAME = (
    "Pass the mask by name instead: omit `mask_zero`, create the mask once, as in `mask = ids != "
    "0`, call layers that read neighbors with it, as in `lstm(x, mask=mask)`, and"
)


def hidden_mask(x):
    """Returns the mask that Keras stores with a tensor (the hidden mask), or `None`."""
    return getattr(x, "_keras_mask", None)


def check_merged_masks(model, then):
    """Raises a ValueError if a layer merges tensors with and without a hidden mask.

    Keras 3.15 then counts padding as real: the mask of a concatenation is True everywhere, and a
    sum or product has no mask. `then` is the end of the error message, which says how to pass the
    mask on.
    """
    for layer in model.layers:
        if isinstance(layer, keras.Model):
            check_merged_masks(layer, then)
        elif isinstance(layer, _MERGING):
            if len({hidden_mask(x) is None for x in layer.input}) > 1:
                raise ValueError(
                    f"The layer {layer.name!r} must merge either only tensors with a mask of "
                    "Keras or only tensors without one; got both kinds. Keras would count "
                    f"padding as real. {BY_NAME} {then}."
                )


def check_mask_of(x, mask, then):
    """Calls `check_merged_masks` for the layers that lead to a tensor of a functional model.

    Does nothing if `mask`, the mask of the tensor, was passed by name instead of computed by Keras.
    """
    if mask is None or mask is hidden_mask(x):
        check_merged_masks(keras.Model(keras.utils.get_source_inputs(x), x), then)


def creates_mask(model):
    """Returns True if a layer of the model creates a hidden mask."""
    return any(
        creates_mask(layer)
        if isinstance(layer, keras.Model)
        else isinstance(layer, keras.layers.Masking) or getattr(layer, "mask_zero", False)
        for layer in model.layers
    )
