"""TokenReader: converts strings to the ids of a biLM inside an exported graph."""

import os

import tensorflow as tf

from tfreps._src.export.signature_base import real_tokens
from tfreps._src.text.char_ids import add_boundaries, character_ids, token_character_ids
from tfreps._src.text.lookup_table import lookup_table
from tfreps._src.text.word_char_graph import WordCharGraph
from tfreps._src.text.word_char_ids import WordCharIndexer


class TokenReader:
    """Converts strings to the ids of a biLM, using only core TensorFlow operations.

    `vocabulary` is a `Vocabulary`, a `WordCharIndexer` or `None`. It is written to `folder`, as
    assets of the SavedModel. Without a `Vocabulary`, `lookup` and `targets` cannot be used, and
    `to_ids` can be used only if the biLM reads characters.
    """

    def __init__(self, bilm, vocabulary, folder):
        self.bilm = bilm
        self.vocabulary = vocabulary
        self.reads_characters = bilm._ids_name != "token_ids"
        self.table = None
        if isinstance(vocabulary, WordCharIndexer):
            self.table = WordCharGraph(vocabulary, folder)
            self.empty = vocabulary([[""]])[0, 0]
        elif vocabulary is not None:
            path = os.path.join(folder, "vocabulary.txt")
            self.table = lookup_table(vocabulary.tokens, vocabulary.unknown_id, path)

    def to_ids(self, tokens, sequence_len):
        """Converts tokens to input ids of the biLM.

        `tokens` has the shape `[N, T]`, and `sequence_len`, `[N]`, is the number of tokens in each
        row. An empty string before the padding is a token without characters. Returns int32 ids,
        `[N, T, C]` or `[N, T]`, which are 0 on padding.
        """
        inside = real_tokens(tokens, sequence_len)
        if not self.reads_characters:
            return tf.where(inside, self.lookup(tokens) + 1, 0)
        size = self.bilm.max_characters
        if isinstance(self.table, WordCharGraph):
            ids = self.table(tokens, self.empty)
        else:
            empty = tf.constant(token_character_ids("", size))
            ids = tf.where((tokens == "")[..., None], empty, character_ids(tokens, size))
        return tf.where(inside[..., None], ids, 0)  # [N, T, C]

    def lookup(self, tokens):
        """Returns the vocabulary ids of tokens, int32, which number the classes of the softmax."""
        return tf.cast(self.table.lookup(tokens), tf.int32)

    def targets(self, tokens, lengths):
        """Returns the vocabulary ids that the language model has to predict, int32 `[N, T+2]`.

        These are the ids of the sentence start, of the tokens, and of the sentence end.
        """
        ends = self.vocabulary.start_id, self.vocabulary.end_id
        return add_boundaries(self.lookup(tokens), lengths, *ends)[0]
