"""copy_weights: copies weights between models that have the same layers."""

from tfreps._src.layers.ops.configurable import inner_layers


def copy_weights(target, source, parts=None) -> None:
    """Copies all weights, or the weights of some parts, from `source` to `target` by name.

    `parts` are paths of layers that both models have, such as `"token_encoder"` or `"blocks/0"` for
    `blocks[0]`, or of single weights, such as `"softmax/bias"`. Both models must be built, and
    weights of the same name must have the same shape. Otherwise, a ValueError is raised and no
    weight is copied.
    """
    ours = _selected(target, parts)
    theirs = _selected(source, parts)
    different = sorted(ours.keys() ^ theirs.keys())
    if different:
        has, lacks = (target, source) if different[0] in ours else (source, target)
        raise ValueError(
            f"{_described(has)} has the weight {different[0]!r}, which {_described(lacks)} does "
            "not have. Weights can be copied only between models with the same layers. Create both "
            "models with the same options, or list in `parts` the layers that both have."
        )
    for name, weight in ours.items():
        if tuple(weight.shape) != tuple(theirs[name].shape):
            raise ValueError(
                f"The weight {name!r} has shape {tuple(weight.shape)} in {_described(target)} "
                f"and {tuple(theirs[name].shape)} in {_described(source)}. Create both "
                "models with the same sizes."
            )
    for name, weight in ours.items():
        weight.assign(theirs[name])


def changed_copy(model, **changes):
    """Returns a copy of a model with the same weights and with the options in `changes`.

    For example, `trainable` can be changed. The changes must not affect the names and shapes of the
    weights.
    """
    copy = type(model).from_config({**model.get_config(), **changes})
    copy_weights(copy, model)
    return copy


def weights_by_name(layer) -> dict:
    """Returns a dict from paths, such as `"blocks/0/expand/kernel"`, to the weights of a model.

    If several weights have the same name, `_1` is appended to the name of the second, and so on.
    """
    prefixes = {id(weight): "" for weight in layer.weights}
    # Outer layers come first, so the innermost layer sets the name.
    for path, inner in inner_layers(layer):
        prefixes |= {id(weight): f"{path}/" for weight in inner.weights}
    named = {}
    for weight in layer.weights:
        name = full_name = prefixes[id(weight)] + weight.name
        number = 0
        while full_name in named:
            number += 1
            full_name = f"{name}_{number}"
        named[full_name] = weight
    return named


def _selected(model, parts):
    """Returns a dict of the weights in `parts` by name, or of all weights if `parts` is None."""
    weights = weights_by_name(model)
    if parts is None:
        return weights
    known = {path: None for path, _ in inner_layers(model)} | weights
    for part in parts:
        if part not in known:
            raise ValueError(
                f"`parts` must name layers or weights of {_described(model)}; got {part!r}. The "
                f"model has {', '.join(known)}."
            )
    inside = tuple(f"{part}/" for part in parts)
    return {n: w for n, w in weights.items() if n in parts or n.startswith(inside)}


def _described(layer):
    return f"{type(layer).__name__} {layer.name!r}"
