"""SentenceEncoder: encodes many sentences with a biLM, in batches of similar length."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
import tensorflow as tf

from tfreps._src.data.length_plan import LengthPlan
from tfreps._src.files.argument_checks import as_list
from tfreps._src.layers.elmo_bilstm import reverse_tokens
from tfreps._src.models.bilm import BiLM
from tfreps._src.models.many_langs import ManyLangsBiLM
from tfreps._src.text import char_ids, word_char_ids
from tfreps._src.text.char_ids import token_rows
from tfreps._src.text.vocabulary import Vocabulary
from tfreps._src.text.word_char_ids import WordCharIndexer

TOKENS_AT_ONCE = 512  # distinct tokens per call of the token encoder
BATCH_TOKENS = 4096
Layers = Literal["all", "top", "average"] | int | Sequence[float]
LAYERS = "all", "top", "average"


class SentenceEncoder:
    """Encoder that computes biLM vectors for any number of tokenized sentences of any length.

    Sentences of similar length share a batch. The size of a batch is limited by a budget of
    tokens, including padding and sentence boundaries. A sentence longer than the budget is read
    in segments; the LSTM states are passed from segment to segment in both directions, so that
    only the vectors of the sentence take memory in proportion to its length. The context-free
    vector of a token is computed once per batch, or only once in total if the token was passed to
    `cache_tokens`. The results equal the outputs of the `BiLM` up to rounding.

    Args:
        bilm: `BiLM` or `ManyLangsBiLM` with `initial_state` `"zero"` or `"warm"`.
        vocabulary: `tfreps.text.Vocabulary`, required if the biLM reads token ids; or
            `tfreps.text.WordCharIndexer`, required for a `ManyLangsBiLM`. Defaults to `None`.
        batch_tokens: int. Maximum number of tokens per batch, at least 1. Defaults to 4096.
        layers: str, int or list of float. Vectors to compute. `"all"`: the vectors of every layer.
            `"top"`: the vectors of the last layer. `"average"`: the average of all layers. int:
            the vectors of the layer with this number, where 0 is the token layer. list: the
            weighted sum of the layers, with a factor for the token layer and for each LSTM layer.
            Defaults to `"all"`.
        dtype: str. Data type of the vectors. Defaults to `"float32"`.

    Raises:
        ValueError: If the biLM has `initial_state="carry"`, if the vocabulary that it needs is
            missing, or if `batch_tokens` or `layers` is invalid.

    Example:
    >>> from tfreps.models import BiLM
    >>> encoder = SentenceEncoder(BiLM(filters=[[1, 8]], units=8, projection_dim=4))
    >>> for number, vectors in encoder.encode([["I", "have", "a", "dog"], ["That"]]):
    ...     print(number, vectors.shape)
    1 (3, 1, 8)
    0 (3, 4, 8)
    """

    def __init__(
        self,
        bilm: BiLM | ManyLangsBiLM,
        vocabulary: Vocabulary | WordCharIndexer | None = None,
        batch_tokens: int = BATCH_TOKENS,
        layers: Layers = "all",
        dtype: str = "float32",
    ):
        if bilm.initial_state == "carry":
            raise ValueError(
                '`initial_state` of the biLM must be "zero" or "warm"; got "carry", which makes '
                "the results depend on the order of the batches. Use "
                '`bilm.with_initial_state("zero")`.'
            )
        if bilm._ids_name != "character_ids" and vocabulary is None:
            what = bilm._ids_name.replace("_", " ")
            raise ValueError(
                f"`vocabulary` is missing: this biLM reads {what}. Pass the vocabulary that "
                "the biLM was trained with."
            )
        if batch_tokens < 1:
            raise ValueError(f"`batch_tokens` must be at least 1; got {batch_tokens}.")
        self.bilm: Any = bilm
        self.vocabulary: Vocabulary | WordCharIndexer | None = vocabulary
        self.batch_tokens: int = batch_tokens
        self.layers: Layers = layers
        self.dtype: str = dtype
        self._factors = _factors(layers, bilm.num_layers + 1)
        self._layer: int | None = layers if isinstance(layers, int) else None
        if isinstance(layers, str) and layers == "top":
            self._layer = bilm.num_layers
        vectors = tf.TensorSpec([None, bilm.projection_dim])
        batch = _int32(None, None), vectors, vectors, _int32(None)
        self._chosen = tf.function(self._choose, reduce_retracing=True)
        self._token_vectors = tf.function(
            self._encode_ids, [_int32(None, *bilm._ids_sizes)], autograph=False
        )
        self._batch = tf.function(self._run_batch, batch, autograph=False)
        self._piece = [
            tf.function(lstm.call, reduce_retracing=True, autograph=False)
            for lstm in bilm.bilstm.directions
        ]
        names = word_char_ids if isinstance(vocabulary, WordCharIndexer) else char_ids
        self._ends: tuple[str, str] = names.SENTENCE_START, names.SENTENCE_END
        self.cache_tokens([])

    def cache_tokens(
        self, tokens: Iterable[str], progress: Callable[[int], object] | None = None
    ) -> None:
        """Computes context-free vectors of tokens and stores them for later calls to `encode`.

        The stored vectors replace the vectors of an earlier call to `cache_tokens`.

        Args:
            tokens: iterable of str. Distinct tokens, usually the most frequent ones. The vector of
                each token takes `4 * projection_dim` bytes of memory.
            progress: callable. It is called with the number of tokens processed so far, including
                the sentence start and end. If `None`, progress is not reported. Defaults to `None`.

        Raises:
            ValueError: If `tokens` is a string.
        """
        tokens = as_list("`tokens`", tokens, "tokens")
        tokens = [*self._ends, *(token for token in tokens if token not in self._ends)]
        self._rows = {token: row for row, token in enumerate(tokens)}
        self._kept = self._vectors(tokens, progress)  # [R, P]

    def encode(self, sentences: Iterable[Sequence[str]]) -> Iterator[tuple[int, np.ndarray]]:
        """Computes the vectors of sentences.

        Args:
            sentences: iterable of lists of str. Tokenized sentences. A sentence may be empty.

        Yields:
            Tuples `(number, vectors)`, one per sentence, from the shortest sentence to the longest.
            `number` is the index of the sentence in `sentences`. For a sentence of n tokens,
            `vectors` is an array of type `dtype` and of shape `[L+1, n, 2P]` for `layers="all"`,
            otherwise `[n, 2P]`, where L is the number of LSTM layers and P is `projection_dim`. For
            a biLM with `bidirectional=False`, P replaces 2P. The array does not include the
            sentence boundaries.

        Raises:
            ValueError: If `sentences` or one of them is a string.
        """
        sentences = as_list("`sentences`", sentences, "sentences")
        sentences = [as_list("Each of `sentences`", s, "tokens") for s in sentences]
        lengths = np.array([len(sentence) for sentence in sentences], np.int64)
        # A row has two positions more than the sentence has tokens: the sentence boundaries.
        for batch in LengthPlan(lengths + 2, self.batch_tokens).batches():
            numbers = batch.sentences.tolist()
            vectors = self._encode_batch([sentences[number] for number in numbers])
            for row, number in enumerate(numbers):
                yield number, vectors[row][..., : lengths[number], :]

    def _encode_batch(self, sentences: list[Sequence[str]]) -> np.ndarray:
        rows, new_tokens = self._number(sentences)
        new = self._vectors(new_tokens)
        lengths = np.array([len(sentence) for sentence in sentences], np.int32)
        if rows.size <= self.batch_tokens:
            layers = self._batch(rows, self._kept, new, lengths)
        else:
            layers = self._run_long(rows, new)
        return self._chosen(layers).numpy()

    def _choose(self, layers: tf.Tensor) -> tf.Tensor:
        """Selects or sums the layers, `[B, L+1, T, 2P]`, according to `self.layers`.

        Returns the vectors as `dtype`: `[B, L+1, T, 2P]` for `"all"`, otherwise `[B, T, 2P]`.
        """
        if self._factors is not None:
            layers = tf.einsum("l,bltd->btd", self._factors, layers)
        elif self._layer is not None:
            layers = layers[:, self._layer]
        return tf.cast(layers, self.dtype)

    def _number(self, sentences: list[Sequence[str]]) -> tuple[np.ndarray, list[str]]:
        """Numbers the distinct tokens of a batch of sentences, including the boundaries.

        Returns the number of each token, int32 `[B, T+2]`, and the list of the tokens that are new
        because `cache_tokens` did not store their vectors. The numbers are rows of a table that
        contains the stored vectors, followed by the vectors of the new tokens.
        """
        longest = max(map(len, sentences)) + 2
        rows = np.zeros([len(sentences), longest], np.int32)
        new: dict[str, int] = {}
        first_new, (start, end) = len(self._rows), self._ends
        for row, sentence in zip(rows, sentences, strict=True):
            for position, token in enumerate([start, *sentence, end]):
                known = self._rows.get(token)
                if known is None:
                    known = first_new + new.setdefault(token, len(new))
                row[position] = known
        return rows, list(new)

    def _vectors(
        self, tokens: list[str], progress: Callable[[int], object] | None = None
    ) -> tf.Tensor:
        """Computes the vectors of distinct tokens, float32 `[N, P]`, in small batches.

        After each batch, `progress` is called with the number of tokens processed so far.
        """
        parts = [tf.zeros([0, self.bilm.projection_dim])]
        for start in range(0, len(tokens), TOKENS_AT_ONCE):
            some = tokens[start : start + TOKENS_AT_ONCE]
            parts.append(self._token_vectors(self._ids(some)))
            if progress:
                progress(start + len(some))
        return tf.concat(parts, 0)

    def _ids(self, tokens: list[str]) -> np.ndarray:
        bilm = self.bilm
        if isinstance(self.vocabulary, WordCharIndexer):
            return self.vocabulary([tokens])[0]  # [N, 1 + C]
        if bilm.vocabulary_size is None or self.vocabulary is None:
            return token_rows(tokens, bilm.max_characters)  # [N, C]
        ids = np.array(self.vocabulary.tokens_to_ids(tokens), np.int32) + 1  # [N]
        start, end = self._ends
        ends = {start: bilm.sentence_start_id, end: bilm.sentence_end_id}
        return np.array([ends.get(t, i) for t, i in zip(tokens, ids, strict=True)], np.int32)

    def _encode_ids(self, ids: tf.Tensor) -> tf.Tensor:
        if self.bilm._ids_sizes:
            return self.bilm.token_encoder._encode(ids)
        return self.bilm.encode_tokens(ids)

    def _gather(self, rows: tf.Tensor, kept: tf.Tensor, new: tf.Tensor) -> tf.Tensor:
        """Looks up vectors in a table that consists of the vectors `kept`, followed by `new`.

        `rows` contains row numbers of the table, int32 `[...]`; the result has the shape
        `[..., P]`. The table itself is never created.
        """
        count = tf.shape(kept)[0]
        # Adds a row, because `tf.gather` needs at least one.
        new = tf.concat([new, tf.zeros_like(kept[:1])], 0)
        own = tf.gather(new, tf.maximum(rows - count, 0))
        return tf.where(
            (rows < count)[..., None],  # pyright: ignore[reportArgumentType]
            tf.gather(kept, tf.minimum(rows, count - 1)),
            own,
        )

    def _run_batch(
        self, rows: tf.Tensor, kept: tf.Tensor, new: tf.Tensor, lengths: tf.Tensor
    ) -> tf.Tensor:
        mask = tf.sequence_mask(lengths + 2, tf.shape(rows)[1])  # [B, T+2]
        used, which = tf.unique(tf.reshape(rows, [-1]))
        vectors, which = self._gather(used, kept, new), tf.reshape(which, tf.shape(rows))
        tokens = tf.where(mask[..., None], tf.gather(vectors, which), 0.0)
        states = self.bilm._fixed_state(tf.shape(rows)[0])
        layers, _ = self.bilm.bilstm(
            tokens, mask=mask, initial_state=states, distinct=(vectors, which)
        )
        both = tf.concat([tokens] * len(states), axis=-1)[:, None]
        return tf.concat([both, layers], axis=1)[:, :, 1:-1]  # [B, L+1, T, 2P]

    def _run_long(self, rows: np.ndarray, new: tf.Tensor) -> tf.Tensor:
        """Computes the layers of one long sentence, `[1, L+1, T, 2P]`, segment by segment.

        `rows`, `[1, T+2]`, are the numbers of the tokens, and `new` are the vectors of new tokens.
        """
        tokens = self._gather(tf.convert_to_tensor(rows), self._kept, new)  # [1, T+2, P]
        outputs = []
        for number, (piece, state) in enumerate(
            zip(self._piece, self.bilm._fixed_state(1), strict=True)
        ):
            x = tokens if number == 0 else reverse_tokens(tokens, None)
            parts = []
            for start in range(0, rows.shape[1], self.batch_tokens):
                part, state = piece(x[:, start : start + self.batch_tokens], initial_state=state)
                parts.append(part)  # [1, L, t, P]
            layers = tf.concat(parts, axis=2)
            layers = layers if number == 0 else tf.reverse(layers, [2])
            outputs.append(tf.concat([tokens[:, None], layers], axis=1))
        return tf.concat(outputs, axis=-1)[:, :, 1:-1]


def _factors(layers: Layers, num_layers: int) -> np.ndarray | None:
    """Returns the factors with which the layers are summed, float32 `[L+1]`.

    Returns `None` if `layers` selects all layers or one layer, so that none are summed. Raises a
    ValueError if `layers` is not valid.
    """
    if isinstance(layers, str) and layers in LAYERS:
        return np.full([num_layers], 1 / num_layers, "float32") if layers == "average" else None
    if isinstance(layers, int) and 0 <= layers < num_layers:
        return None
    if isinstance(layers, str) or np.shape(layers) != (num_layers,):
        raise ValueError(
            f"`layers` must be one of {', '.join(LAYERS)}, the number of a layer from 0 to "
            f"{num_layers - 1}, or a list of {num_layers} factors, one per layer; got {layers!r}."
        )
    return np.asarray(layers, np.float32)


def _int32(*shape: int | None) -> tf.TensorSpec:
    return tf.TensorSpec(shape, tf.int32)
