"""Configurable: `get_config` and `from_config` for all layers and models."""

import inspect

import keras


class Configurable:
    """Mixin that derives the config of a layer or model from its constructor arguments.

    A class must list it before `keras.layers.Layer` or `keras.Model` among its bases, and its
    constructor must store each argument as an attribute of the same name. In addition to the keys
    of Keras, such as `name`, the config has one key per argument. Plain values are stored
    unchanged; models, layers, initializers and functions are serialized by Keras.

    The layers that the constructor or `build` creates do not appear in the config, unless they
    were quantized or frozen later. For these layers, the config has up to two more keys:
    `quantized` maps the path of each quantized layer to its quantization mode, and `frozen` lists
    the paths of the layers that are not trainable. A path corresponds to attribute access:
    `"blocks/0/attention/combine"` refers to `model.blocks[0].attention.combine`.

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

    def _add(self, name, shape, initializer="zeros"):
        """Adds and returns a weight that is not cast to the compute dtype when it is read."""
        return self.add_weight(name=name, shape=shape, initializer=initializer, autocast=False)

    # `quantized` and `frozen` of a config, stored until the layers are built.
    _pending = None

    def _frozen_by_options(self):
        """Returns a list of the layers and weights that options make non-trainable, if any."""
        return []

    def _own_layers(self):
        """Returns a dict of inner layers by path, without those inside `Configurable` arguments."""
        arguments = [vars(self).get(name) for name in argument_names(type(self))]
        given = {id(value) for value in arguments if isinstance(value, Configurable)}
        return dict(inner_layers(self, given))

    def _changed(self):
        """Returns a dict of the quantized inner layers and a list of the frozen inner layers.

        The dict maps the path of each quantized layer to its quantization mode. The list contains
        the paths of the frozen layers, except layers inside another frozen layer and layers that
        options make non-trainable. The list is empty if this layer itself is not trainable.
        """
        layers = self._own_layers()
        quantized = {
            path: layer.quantization_mode
            for path, layer in layers.items()
            if layer.quantization_mode and not any(_children(layer))
        }
        if not self.trainable:
            return quantized, []  # the config already contains `trainable`
        known = {id(part) for part in self._frozen_by_options()}
        paths = [p for p, layer in layers.items() if not layer.trainable and id(layer) not in known]
        inside = tuple(f"{path}/" for path in paths)
        return quantized, [path for path in paths if not path.startswith(inside)]

    def _restore(self):
        """Quantizes and freezes the inner layers that the config lists.

        Raises a ValueError if an inner layer does not exist.
        """
        quantized, frozen = self._pending or ({}, [])
        self._pending = None
        layers = self._own_layers() if quantized or frozen else {}
        for path in (*quantized, *frozen):
            if path not in layers:
                raise ValueError(
                    f"`quantized` and `frozen` in the config of the {type(self).__name__} "
                    f"{self.name!r} must contain paths of its inner layers; got {path!r}. Its "
                    f"inner layers are: {', '.join(layers) or 'none'}."
                )
        for path, mode in quantized.items():
            if layers[path].quantization_mode is None:
                layers[path].quantize(mode)
        for path in frozen:
            layers[path].trainable = False
        if not self.trainable:  # layers created after the constructor are still trainable
            # TensorFlow ignores `self.trainable = False` if it is already False.
            keras.layers.Layer.trainable.fset(self, False)


def argument_names(cls):
    """Returns the names of the constructor arguments of a class as a list, except Keras's own."""
    names = {}
    for base in cls.__mro__:
        if base.__module__.partition(".")[0] == "keras":
            break
        if "__init__" not in vars(base):
            continue
        # All parameters except `self`.
        parameters = [*inspect.signature(base.__init__).parameters.values()][1:]
        variadic = [p.kind for p in parameters if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        names |= {p.name: None for p in parameters if p.kind not in variadic}
        if not variadic:
            break
    return [*names]


def shared_options(layer, cls):
    """Returns a dict, from names to values, of a layer's options that `cls` has as well."""
    own = argument_names(type(layer))
    return {name: getattr(layer, name) for name in argument_names(cls) if name in own}


def inner_layers(layer, whole=()):
    """Yields `(path, layer)` for all layers inside a layer; `Configurable` describes the paths.

    Outer layers come first. A layer that occurs more than once is yielded once, with its first
    path. If the `id()` of a layer is in `whole`, the layers inside it are skipped.
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
    """Yields `(path, layer)` for direct inner layers, first those in public attributes."""
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
    # Layers of functional models and of private attributes.
    of_others = getattr(layer, "_layers", ())
    yield from ((inner.name, inner) for inner in of_others)


def _to_config(value):
    is_object = isinstance(value, keras.layers.Layer | keras.Initializer) or callable(value)
    return keras.saving.serialize_keras_object(value) if is_object else value


def _from_config(value):
    is_object = isinstance(value, dict) and {"class_name", "module"} <= set(value)
    return keras.saving.deserialize_keras_object(value) if is_object else value
