"""CharCNNEncoder: encodes each token from its character ids with a CNN."""

from typing import Any

import keras
import tensorflow as tf

from tfreps._src.files.argument_checks import check_integers
from tfreps._src.layers.highway import Highway
from tfreps._src.layers.ops.annotations import Activation, Filters, Shape
from tfreps._src.layers.ops.configurable import Configurable
from tfreps._src.layers.ops.masks import checked_ids
from tfreps._src.layers.ops.matmul import matmul
from tfreps._src.layers.ops.portable import is_portable
from tfreps._src.layers.ops.table_rows import distinct_rows

# Character ids of a token: 0 means "no token", and the last id fills the rest of a short token's
# row. tfreps/_src/text/char_ids.py describes how text is converted to these ids.
NUM_CHARACTER_IDS = 262
PADDING_CHARACTER = 261
# Number of groups of tokens of similar length. A group is truncated to its longest token.
NUM_CHUNKS = 6


@keras.saving.register_keras_serializable(package="tfreps")
class CharCNNEncoder(Configurable, keras.layers.Layer):
    """Character CNN that encodes each token from its characters alone, without context.

        x = characters[ids]                                              # [C, character_dim]
        y_i = activation(max_s(sum_k x[s + k] @ kernel_i[k]) + bias_i)   # one per filter
        token = highways([y_1, y_2, ...]) @ projection_kernel + projection_bias

    Three optimizations leave the result unchanged. Each distinct token of a batch is encoded
    once. Tokens of similar length are processed in groups, and each group applies the filters at
    only one of the positions after its longest token, because the results at these positions are
    equal. All filters are computed with a single matrix multiplication.

    Args:
        filters: list of `(width, count)` pairs, for example `[[1, 32], [2, 32]]`.
        projection_dim: int. Width of the token vector. It must not exceed the total number of
            filters. If it equals that number, there is no projection.
        character_dim: int. Width of a character's vector. Defaults to 16.
        num_highways: int. Number of highway layers after the convolutions. Defaults to 1.
        activation: str or function. Activation of the convolutions, as accepted by Keras. The
            published models use `"relu"` or `"tanh"`. The highway layers always use relu.
            Defaults to `"relu"`.
        max_characters: int. Number of character ids per token. Defaults to 50.
        num_character_ids: int, at least 2. Number of different character ids. Id 0 means "no
            token", and the last id fills the rest of a row after the characters of its token.
            Defaults to 262, as in `tfreps.text.character_ids`.

    Call arguments:
        inputs: int, shape `[..., max_characters]`, as created by `tfreps.text`. Each id is less
            than `num_character_ids`; all ids of a row are 0 where there is no token.

    Returns:
        float32, shape `[..., projection_dim]`, zero where there is no token.

    Raises:
        ValueError: If `filters` is empty or contains a number below 1 or a width above
            `max_characters`, or if another option is invalid.
        tf.errors.InvalidArgumentError: If an id is out of range.

    Reference: Kim et al., 2016, "Character-Aware Neural Language Models"; Jozefowicz et
    al., 2016, "Exploring the Limits of Language Modeling"; bilm-tf.

    Example:
    >>> import tfreps
    >>> encoder = CharCNNEncoder(filters=[[1, 4], [2, 8]], projection_dim=6)
    >>> vectors = encoder(tfreps.text.batch_to_ids([["a", "dog", "a"]]))
    >>> vectors.shape, bool(tf.reduce_all(vectors[0, 0] == vectors[0, 2]))
    (TensorShape([1, 3, 6]), True)
    """

    def __init__(
        self,
        filters: Filters,
        projection_dim: int,
        character_dim: int = 16,
        num_highways: int = 1,
        activation: Activation = "relu",
        max_characters: int = 50,
        num_character_ids: int = NUM_CHARACTER_IDS,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        self.filters = filters
        self.projection_dim = projection_dim
        self.character_dim = character_dim
        self.num_highways = num_highways
        self.activation = activation
        self.max_characters = max_characters
        self.num_character_ids = num_character_ids
        self.activate = keras.activations.get(activation)
        self.total_filters = sum(count for _, count in filters)
        self.widest = max((width for width, _ in filters), default=0)
        _check(self)
        common = {"dtype": self.dtype_policy, "trainable": self.trainable}
        self.highways = [Highway(name=f"highway_{i}", **common) for i in range(num_highways)]
        self.supports_jit = False  # the output of tf.unique has no static shape

    def build(self, input_shape: Shape) -> None:
        uniform = keras.initializers.RandomUniform(-1.0, 1.0)
        shape = self.num_character_ids, self.character_dim
        self.characters = self._add("characters", shape, uniform)
        no_token = tf.zeros_like(self.characters[:1])
        self.characters.assign(tf.concat([no_token, self.characters[1:]], 0))
        self.kernels = []
        self.biases = []
        for i, (width, count) in enumerate(self.filters):
            shape = (width, self.character_dim, count)
            self.kernels.append(self._add(f"convolution_{i}_kernel", shape, self._start(width)))
            self.biases.append(self._add(f"convolution_{i}_bias", (count,), "zeros"))
        for highway in self.highways:
            highway.build((None, self.total_filters))
        if self.projection_dim != self.total_filters:
            shape = (self.total_filters, self.projection_dim)
            normal = keras.initializers.RandomNormal(stddev=self.total_filters**-0.5)
            self.projection_kernel = self._add("projection_kernel", shape, normal)
            self.projection_bias = self._add("projection_bias", shape[1:], "zeros")

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        vectors, which = self._encode_distinct(inputs)
        return tf.gather(vectors, which)

    def _encode_distinct(self, character_ids):
        """Encodes each distinct token once.

        Returns:
            Tuple `(vectors, which)`. `vectors` is float32 `[D, projection_dim]`: the vectors of the
            `D` distinct tokens. `which` is int32 `[...]`: the row of each token in `vectors`.
        """
        ids = tf.cast(character_ids, "int32")
        flat = tf.reshape(ids, [-1, self.max_characters])  # [N, C]
        distinct, which = distinct_rows(flat)  # [D, C], [N]
        which = tf.reshape(which, tf.shape(ids)[:-1])
        return self._encode(distinct), tf.ensure_shape(which, ids.shape[:-1])

    def _encode(self, ids):
        """Returns the vectors of distinct tokens, float32 `[D, P]`, for character ids `[D, C]`."""
        most = self.num_character_ids - 1
        message = f"All character ids must lie in 0..{most}. Create them with tfreps.text."
        ids = checked_ids(ids, self.num_character_ids, message)
        lengths = self._lengths(ids)  # [D]
        characters, kernel, bias = self._packed()
        if is_portable():
            return self._project(ids, self._convolve(ids, lengths, characters, kernel), bias)
        order = tf.argsort(lengths, stable=True)
        ids, lengths = tf.gather(ids, order), tf.gather(lengths, order)
        ends = tf.range(NUM_CHUNKS + 1) * tf.size(lengths) // NUM_CHUNKS
        sizes = ends[1:] - ends[:-1]
        convolve = self._convolve
        if not tf.executing_eagerly():  # a function adds the operations to the graph only once
            convolve = tf.function(convolve, autograph=False)
        chunks = [
            convolve(*part, characters, kernel)
            for part in zip(tf.split(ids, sizes), tf.split(lengths, sizes), strict=True)
        ]
        y = tf.gather(tf.concat(chunks, 0), tf.math.invert_permutation(order))  # [D, F]
        return self._project(tf.gather(ids, tf.math.invert_permutation(order)), y, bias)

    def _project(self, ids, y, bias):
        """Returns token vectors, float32 `[D, P]`, for the maxima of the filters, `[D, F]`.

        Rows of `ids`, `[D, C]`, that contain only 0 get the vector 0.
        """
        y = self.activate(tf.cast(y, "float32") + bias)
        for highway in self.highways:
            y = highway(y)
        if self.projection_dim != self.total_filters:
            y = matmul(y, self.projection_kernel, self.compute_dtype)
            y += tf.cast(self.projection_bias, "float32")  # [D, P]
        is_token = tf.reduce_any(tf.not_equal(ids, 0), axis=-1)
        return tf.where(is_token[:, None], y, 0.0)

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return (*input_shape[:-1], self.projection_dim)

    def _lengths(self, ids):
        """Returns the number of characters of each token, without padding: int32 `[D]`."""
        shown = tf.logical_and(ids != 0, ids != self.num_character_ids - 1)
        positions = tf.range(1, self.max_characters + 1)
        return tf.reduce_max(tf.where(shown, positions, 0), axis=1)

    def _convolve(self, ids, lengths, characters, kernel):
        """Returns the maximum of each filter over its positions in a token, `[u, F]`.

        `ids` are the character ids of `u` tokens, `[u, C]`, and `lengths` their numbers of
        characters. A window is the part of a token that starts at one position and that the widest
        filter reads.
        """
        longest = tf.reduce_max(tf.concat([lengths, [1]], 0))
        # Number of windows that can differ from each other.
        starts = tf.minimum(longest + 1, self.max_characters)
        padding = self.num_character_ids - 1
        behind = tf.pad(ids, [[0, 0], [0, self.widest]], constant_values=padding)
        x = tf.gather(characters, behind)
        x = x[:, : starts + self.widest - 1]  # [u, starts + W - 1, character_dim]
        windows = [x[:, k : k + starts] for k in range(self.widest)]
        windows = tf.concat(windows, axis=-1)  # [u, starts, W * character_dim]
        # Number of start positions at which every filter fits into the token's ids.
        whole = self.max_characters - self.widest + 1
        y = _window_maximum(_window_matmul(windows[:, :whole], kernel))  # [u, F]
        # A maximum needs at least one window, so a window is added in which no filter fits.
        late = tf.pad(windows[:, whole:], [[0, 0], [0, 1], [0, 0]])
        late = _window_matmul(late, kernel)
        fits = _fits(self.filters, whole, starts)  # [starts - whole, F]
        fits = tf.pad(fits, [[0, 1], [0, 0]])[None]
        return tf.maximum(y, _window_maximum(tf.where(fits, late, late.dtype.min)))

    def _packed(self):
        """Returns the character vectors, all filters as one matrix, and the biases of the filters.

        The shapes are `[num_character_ids, character_dim]`, `[W * character_dim, F]` and `[F]`.
        Filters below the maximum width `W` are padded with zeros.
        """
        # The reshape makes the gradient dense. Characters repeat within a batch, and optimizers
        # require that a sparse gradient contains each row only once.
        characters = tf.reshape(self.characters, [self.num_character_ids, self.character_dim])
        kernels = [
            tf.pad(kernel, [[0, self.widest - width], [0, 0], [0, 0]])
            for kernel, (width, _) in zip(self.kernels, self.filters, strict=True)
        ]
        kernel = tf.reshape(tf.concat(kernels, axis=-1), [-1, self.total_filters])
        bias = tf.concat([tf.convert_to_tensor(bias) for bias in self.biases], 0)
        dtype = self.compute_dtype
        return tf.cast(characters, dtype), tf.cast(kernel, dtype), tf.cast(bias, "float32")

    def _start(self, width):
        if self.activation == "relu":
            return keras.initializers.RandomUniform(-0.05, 0.05)
        return keras.initializers.RandomNormal(stddev=(width * self.character_dim) ** -0.5)


@tf.custom_gradient
def _window_maximum(y):
    """Returns the maximum of `y`, float `[u, S, F]`, over the `S` windows: `[u, F]`.

    If several windows have the maximum, they share its gradient equally.
    """
    maximum = tf.reduce_max(y, axis=1)

    def gradient(d):
        best = tf.cast(tf.equal(y, maximum[:, None]), y.dtype)
        return best * (d / tf.reduce_sum(best, axis=1))[:, None]

    return maximum, gradient


def _window_matmul(windows, kernel):
    flat = tf.reshape(windows, [-1, kernel.shape[0]]) @ kernel
    return tf.reshape(flat, [*tf.unstack(tf.shape(windows)[:2]), kernel.shape[1]])


def _fits(filters, first, starts):
    """Returns whether each filter, at each start position, fits into the ids of a token.

    The result is bool `[starts - first, F]`, for the start positions from `first` to `starts - 1`
    and all filters.
    """
    widest = max(width for width, _ in filters)
    widths = [width for width, count in filters for _ in range(count)]
    room = first + widest - 1 - tf.range(first, tf.maximum(starts, first))  # [starts - first]
    return tf.constant(widths)[None, :] <= room[:, None]


def _check(layer):
    pairs_fit = layer.filters and all(width > 0 and count > 0 for width, count in layer.filters)
    if not pairs_fit or layer.widest > layer.max_characters:
        raise ValueError(
            "`filters` must be a list of (width, count) pairs of positive numbers, with at least "
            "one pair and no width above `max_characters` "
            f"({layer.max_characters}); got {layer.filters}."
        )
    if not 0 < layer.projection_dim <= layer.total_filters:
        raise ValueError(
            "`projection_dim` must be at least 1 and at most the number of filters, "
            f"{layer.total_filters}; got {layer.projection_dim}."
        )
    check_integers(1, character_dim=layer.character_dim)
    check_integers(2, num_character_ids=layer.num_character_ids)
    check_integers(0, num_highways=layer.num_highways)
