"""copy_weights: the weights of one model into another that has the same layers."""

from tfreps.layers.ops.configurable import inner_layers


def copy_weights(target, source, parts=None) -> None:
    """Copies all weights, or those of some parts, by name.

    Args:
        target, source: `keras.layers.Layer` or models, built. Weights that are named alike must
            have the same shape; that they are trainable, or of one precision, is not needed.
        parts: list of str. Paths of layers that both have, such as `"token_encoder"` or
            `"blocks/0"` for `blocks[0]`, and of single weights, such as `"softmax/bias"`; None
            for the whole.

    Raises:
        ValueError: a part that is missing, a weight that only one of them has, or one of another
            shape. Nothing is copied then.

    Example:
    >>> from tfreps.models import BertEncoder
    >>> sizes = {"vocabulary_size": 9, "hidden_dim": 8, "num_heads": 2}
    >>> long, short = BertEncoder(**sizes, num_layers=3), BertEncoder(**sizes, num_layers=1)
    >>> copy_weights(short, long, parts=["token_embedding", "blocks/0"])
    >>> bool((short.blocks[0].expand.kernel.numpy() == long.blocks[0].expand.kernel.numpy()).all())
    True
    """
    ours = _selected(target, parts)
    theirs = _selected(source, parts)
    different = sorted(ours.keys() ^ theirs.keys())
    if different:
        has, lacks = (target, source) if different[0] in ours else (source, target)
        raise ValueError(
            f"{_described(has)} has the weight {different[0]!r}, and {_described(lacks)} has not: "
            "weights are copied between models of the same layers. Make both with the same "
            "options, or name the `parts` that are the same."
        )
    for name, weight in ours.items():
        if tuple(weight.shape) != tuple(theirs[name].shape):
            raise ValueError(
                f"The weight {name!r} has the shape {tuple(weight.shape)} in "
                f"{_described(target)}, and {tuple(theirs[name].shape)} in {_described(source)}: "
                "make both with the same sizes."
            )
    for name, weight in ours.items():
        weight.assign(theirs[name])


def changed_copy(model, **changes):
    """A copy of a model, weights included, with other options that change no weight.

    Args:
        model: a model of tfreps.
        **changes: options of its class, such as `trainable`.

    Returns:
        a model of the same class.

    Example:
    >>> from tfreps.models import TokenEmbedder
    >>> embedder = TokenEmbedder(vocabulary_size=9, embedding_dim=4)
    >>> changed_copy(embedder, trainable=False).trainable_weights
    []
    """
    copy = type(model).from_config({**model.get_config(), **changes})
    copy_weights(copy, model)
    return copy


def weights_by_name(layer) -> dict:
    """All weights of a layer or model by name: the path of the layer inside, and the weight's own.

    Args:
        layer: `keras.layers.Layer`, built.

    Returns:
        dict from names such as `"blocks/0/expand/kernel"` to `keras.Variable`. Of weights of one
        name the second is called `name_1`, and so on.
    """
    prefixes = {id(weight): "" for weight in layer.weights}
    for path, inner in inner_layers(layer):  # outer ones first: the innermost gives the name
        prefixes |= {id(weight): f"{path}/" for weight in inner.weights}
    named = {}
    for weight in layer.weights:
        name = prefixes[id(weight)] + weight.name
        full_name = prefixes[id(weight)] + weight.name
        number = 0
        while full_name in named:
            number += 1
            full_name = f"{name}_{number}"
        named[full_name] = weight
    return named


def _selected(model, parts):
    """The weights of some parts by name, those of all for None."""
    weights = weights_by_name(model)
    if parts is None:
        return weights
    known = {path: None for path, _ in inner_layers(model)} | weights
    for part in parts:
        if part not in known:
            raise ValueError(
                f"{_described(model)} has no part {part!r}; it has {', '.join(known)}."
            )
    inside = tuple(f"{part}/" for part in parts)
    return {n: w for n, w in weights.items() if n in parts or n.startswith(inside)}


def _described(layer):
    return f"{type(layer).__name__} {layer.name!r}"
