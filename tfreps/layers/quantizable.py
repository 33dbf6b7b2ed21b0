"""Quantizable: layers made of Keras's layers come back from a file as quantised as they were."""


class Quantizable:
    """Beside `keras.layers.Layer` or `keras.Model`: keeps in its config what `quantize` has done.

    Keras notes it in the config of each `Dense` and `Embedding`, but these are made anew by what
    they are parts of, and then have no room for 8-bit kernels. The config gains `quantized`, from
    the place of a part among all parts to its mode, as soon as there is any.

    Example:
    >>> import numpy as np
    >>> from tfreps.layers import SelfAttention
    >>> layer = SelfAttention(num_heads=2)
    >>> layer.build((None, None, 4))
    >>> layer.query_key_value.quantize("int8")
    >>> sorted(layer.get_config()["quantized"].values())
    ['int8']
    """

    def get_config(self):
        config, modes = super().get_config(), {}
        for place, part in enumerate(self._flatten_layers(include_self=False)):
            if getattr(part, "quantization_mode", None) and not part._layers:
                modes[str(place)] = part.quantization_mode
        return {**config, "quantized": modes} if modes else config

    @classmethod
    def from_config(cls, config):
        layer = super().from_config({k: v for k, v in config.items() if k != "quantized"})
        return layer.quantized_as(config)

    def build_from_config(self, config):
        super().build_from_config(config)
        self._quantize()

    def quantized_as(self, config):
        """Itself, quantised as a config says, now or as soon as it is built."""
        self._modes = config.get("quantized") or {}
        if self.built:
            self._quantize()
        return self

    def _quantize(self):
        modes, self._modes = getattr(self, "_modes", {}), {}
        if modes:
            parts = list(self._flatten_layers(include_self=False))
            for place, mode in modes.items():
                if parts[int(place)].quantization_mode is None:
                    parts[int(place)].quantize(mode)
