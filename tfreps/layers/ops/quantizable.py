"""Quantizable: layers made of Keras's come back from a file as quantised and frozen as before."""


class Quantizable:
    """Beside `keras.layers.Layer` or `keras.Model`: keeps what `quantize` and `trainable` did.

    Keras notes it in the config of each `Dense` and `Embedding`, but these are made anew by what
    they are parts of, and then have no room for 8-bit kernels and are trained. The config gains
    `quantized`, from the place of a part among all parts to its mode, and `frozen`, the places of
    parts that are not trained, as soon as there are any.

    Example:
    >>> import numpy as np
    >>> from tfreps.layers import SelfAttention
    >>> layer = SelfAttention(num_heads=2)
    >>> layer.build((None, None, 4))
    >>> layer.query_key_value.quantize("int8")
    >>> sorted(layer.get_config()["quantized"].values())
    ['int8']
    >>> layer.query_key_value.trainable = False
    >>> len(layer.get_config()["frozen"])
    1
    """

    def get_config(self):
        config, modes, frozen = super().get_config(), {}, []
        for place, part in enumerate(self._flatten_layers(include_self=False)):
            if getattr(part, "quantization_mode", None) and not part._layers:
                modes[str(place)] = part.quantization_mode
            if not part.trainable:
                frozen.append(place)
        found = {"quantized": modes, "frozen": frozen}
        return {**config, **{name: value for name, value in found.items() if value}}

    @classmethod
    def from_config(cls, config):
        ours = {"quantized", "frozen"}
        layer = super().from_config({k: v for k, v in config.items() if k not in ours})
        return layer.as_in(config)

    def build_from_config(self, config):
        super().build_from_config(config)
        self._restore()

    def as_in(self, config):
        """Itself, quantised and frozen as a config says, now or as soon as it is built."""
        self._modes, self._frozen = config.get("quantized") or {}, config.get("frozen") or []
        if self.built:
            self._restore()
        return self

    def _restore(self):
        modes, self._modes = getattr(self, "_modes", {}), {}
        frozen, self._frozen = getattr(self, "_frozen", []), []
        parts = list(self._flatten_layers(include_self=False)) if modes or frozen else []
        for place, mode in modes.items():
            if parts[int(place)].quantization_mode is None:
                parts[int(place)].quantize(mode)
        for place in frozen:
            parts[place].trainable = False
        if not self.trainable:
            self.trainable = False  # its parts were made after this was said
