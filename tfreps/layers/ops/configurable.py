"""Configurable: `get_config` and `from_config` of all layers and models, whatever is inside."""

import inspect

import keras


class Configurable:
    """Base class before `keras.layers.Layer` or `keras.Model`: arguments are the config.

    Every argument of the constructor is an attribute and a key of the config, all of the same
    name. Plain values stand in the config as they are; models, layers, initializers and functions
    as Keras serialises them.

    Layers that the constructor or `build` made have no config of their own there. What `quantize`
    and `trainable` did to them is kept by name: the config gains `quantized`, from the path of a
    layer to its mode, and `frozen`, the paths of layers that are not trained, as soon as there are
    any. A path is what one would write to reach the layer: `"blocks/0/attention/combine"` is
    `model.blocks[0].attention.combine`.

    Example:
    >>> from tfreps.layers import SelfAttention
    >>> layer = SelfAttention(num_heads=2)
    >>> layer.build((None, None, 4))
    >>> layer.query_key_value.quantize("int8")
    >>> layer.combine.trainable = False
    >>> config = layer.get_config()
    >>> config["num_heads"], config["quantized"], config["frozen"]
    (2, {'query_key_value': 'int8'}, ['combine'])
    """

    def get_config(self):
        config = super().get_config()
        for name in argument_names(type(self)):
            config[name] = _to_config(getattr(self, name))
        quantized, frozen = self._pending or self._changed()
        if quantized:
            config["quantized"] = quantized
        if frozen:
            config["frozen"] = frozen
        return config

    @classmethod
    def from_config(cls, config):
        options = {**config}
        pending = options.pop("quantized", {}), options.pop("frozen", [])
        for name in argument_names(cls):
            if name in options:
                options[name] = _from_config(options[name])
        layer = super().from_config(options)
        layer._pending = pending if any(pending) else None
        if layer.built:
            layer._restore()
        return layer

    def build_from_config(self, config):
        super().build_from_config(config)
        self._restore()

    # What a config says of layers that are not built yet.
    _pending = None

    def _frozen_by_options(self):
        """The layers and weights that options keep from being trained, whatever else is."""
        return []

    def _own_layers(self):
        """The layers inside, by path, but for those inside of arguments, which have configs.

        Returns:
            dict from paths to `keras.layers.Layer`, outer ones first.
        """
        arguments = [vars(self).get(name) for name in argument_names(type(self))]
        given = {id(value) for value in arguments if isinstance(value, Configurable)}
        return dict(inner_layers(self, given))

    def _changed(self):
        """The modes of quantised layers, and the paths of frozen ones that are in none of them."""
        layers = self._own_layers()
        quantized = {
            path: layer.quantization_mode
            for path, layer in layers.items()
            if layer.quantization_mode and not layer._layers
        }
        if not self.trainable:
            return quantized, []  # that is in the config already
        known = {id(part) for part in self._frozen_by_options()}
        paths = [p for p, layer in layers.items() if not layer.trainable and id(layer) not in known]
        inside = tuple(f"{path}/" for path in paths)
        return quantized, [path for path in paths if not path.startswith(inside)]

    def _restore(self):
        """Quantises and freezes what the config named, once it is there."""
        quantized, frozen = self._pending or ({}, [])
        self._pending = None
        layers = self._own_layers() if quantized or frozen else {}
        for path in (*quantized, *frozen):
            if path not in layers:
                raise ValueError(
                    f"The config of {type(self).__name__} {self.name!r} says that its layer "
                    f"{path!r} is quantized or frozen, and it has none of that name; it has "
                    f"{', '.join(layers)}."
                )
        for path, mode in quantized.items():
            if layers[path].quantization_mode is None:
                layers[path].quantize(mode)
        for path in frozen:
            layers[path].trainable = False
        if not self.trainable:  # which its layers, made later, do not know
            # TensorFlow ignores `self.trainable = False` where it is False already.
            keras.layers.Layer.trainable.fset(self, False)


def argument_names(cls):
    """Names of the arguments that layers or models of a class have besides those of Keras.

    Args:
        cls: a class whose constructor hands its `**kwargs` on to the next class's.

    Returns:
        list of str, without the arguments of `keras.layers.Layer`, such as `name` and `dtype`.

    Example:
    >>> from tfreps.layers import SelfAttention
    >>> argument_names(SelfAttention)
    ['num_heads', 'causal', 'dropout', 'initializer_range', 'seed']
    """
    names = {}
    for base in cls.__mro__:
        if base.__module__.partition(".")[0] == "keras":
            break
        if "__init__" not in vars(base):
            continue
        parameters = [*inspect.signature(base.__init__).parameters.values()][1:]  # without self
        variadic = [p.kind for p in parameters if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        names |= {p.name: None for p in parameters if p.kind not in variadic}
        if not variadic:
            break
    return [*names]


def inner_layers(layer, whole=()):
    """Yields all layers inside of a layer, with their paths, outer ones first.

    Args:
        layer: `keras.layers.Layer`.
        whole: set of `id`s of layers that are not looked into.

    Yields:
        pairs of a path, see `Configurable`, and a layer. What is there twice has its first path.
    """
    visited = set()

    def walk(layer, prefix):
        for name, inner in _children(layer):
            if id(inner) in visited:
                continue
            visited.add(id(inner))
            yield prefix + name, inner
            if id(inner) not in whole:
                yield from walk(inner, f"{prefix}{name}/")

    yield from walk(layer, "")


def _children(layer):
    """The layers that are attributes of a layer, or in lists or dicts that are; then all others."""
    for name, value in vars(layer).items():
        if name.startswith("_"):
            continue
        if isinstance(value, list | tuple):
            named = {f"{name}/{number}": item for number, item in enumerate(value)}
        elif isinstance(value, dict):
            named = {f"{name}/{key}": item for key, item in value.items()}
        else:
            named = {name: value}
        yield from ((key, v) for key, v in named.items() if isinstance(v, keras.layers.Layer))
    yield from ((inner.name, inner) for inner in layer._layers)  # of a functional model


def _to_config(value):
    is_object = isinstance(value, keras.layers.Layer | keras.Initializer) or callable(value)
    return keras.saving.serialize_keras_object(value) if is_object else value


def _from_config(value):
    is_object = isinstance(value, dict) and {"class_name", "module"} <= set(value)
    return keras.saving.deserialize_keras_object(value) if is_object else value
