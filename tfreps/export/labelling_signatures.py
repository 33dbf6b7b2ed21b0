"""Signatures of taggers and classifiers: raw strings in, tags, spans and labels as strings out."""

import numpy as np
import tensorflow as tf

from tfreps.export.explanations import explain_attention, explain_label, explain_tags
from tfreps.export.signature_base import (
    StringSignatures,
    asset_folder,
    cut_tokens,
    with_vocabulary,
)
from tfreps.export.stored_weights import StoredWeights
from tfreps.models import TransformerEncoder
from tfreps.text.bert.character_tokens import CharacterTokenizer
from tfreps.text.tags.graph_spans import padded_spans
from tfreps.text.tags.tag_schemes import span_rules
from tfreps.text.tokenizers import tokenize


class TextSignatures(StringSignatures):
    """The signatures of an exported tagger or classifier.

    They are `default` (also called `serving_default`), for raw text, cut as in training, and
    `tokens`:

        default     text str [N]
        tokens      tokens str [N, T], sequence_len int32 [N]; what is beyond is ignored

    A tagger answers

        tokens          str [N, T], "" on padding
        tags            str [N, T], "" on padding
        confidences     float32 [N, T], the probability of each of these tags, 0 on padding
        sequence_len    int32 [N]

    and with a tag scheme, in the order of the sentence,

        span_types                  str [N, S], "" beyond a sentence's last span
        span_starts, span_ends      int32 [N, S], tokens, the end one behind the last
        num_spans                   int32 [N]

    A classifier on a BERT takes `tokens` for words, cuts them into pieces, and counts pieces in
    `sequence_len`, start and separator among them. A text that is too long for its positions is
    cut, and so are a tagger's sentences on a BERT, behind the last word of which all pieces fit:
    `sequence_len` tells. A classifier answers

        label             str [N], the likeliest
        probability       float32 [N], its probability
        labels            str [N, K], all labels, the same in every row
        probabilities     float32 [N, K]
        sequence_len      int32 [N], the tokens that were read

    If asked for, `explain` takes `text` and answers with all of that, with the `tokens` that a
    classifier read, and with what `tfreps.export.explanations` tells of such a model.

    Args:
        trained: `tfreps.inference.TextTagger` or `TextClassifier`.
        explain: bool. Whether there is `explain`.
        core_ops: bool. Whether the export is to need TensorFlow alone; else tensorflow-text's
            operation cuts a BERT's words into pieces, which is faster.

    Raises:
        ValueError: the model reads stored vectors, which raw text does not have; tensorflow-text
            is to be used, and is missing or cannot cut such texts.
    """

    def __init__(self, trained, explain=False, core_ops=True):
        check_exportable(trained.model)
        self.trained = trained
        self.model = trained.model
        kind = "a tagger" if trained.is_tagger else "a classifier"
        encoder = self.model.parts().get("encoder")  # an HMM has none
        parts = [type(part).__name__ for part in (self.model, encoder) if part is not None]
        size = self.model.count_params()
        super().__init__(
            with_vocabulary(trained.indexer, asset_folder(self), core_ops),
            StoredWeights([self.model]),
            f"{kind} of {size:,} parameters ({' on '.join(parts)})",
            explain,
        )
        # A classifier on a BERT reads pieces of texts, all others tokens.
        self.reads_pieces = trained.tokenizer is not None and not trained.is_tagger
        self.longest = None if trained.tokenizer is not None else trained.max_length
        self.text_counts = text_counts(trained)
        self.room = trained.tokenizer.room(trained.max_length) if trained.tokenizer else None

    def expected(self, texts):
        """What `predict` of the model itself says: dict of some outputs of `default`."""
        rows = self.trained.tokenize(texts)
        if self.trained.is_tagger:
            answers = self.trained.tag(rows)
            return {
                "tokens": _padded(rows, ""),
                "tags": _padded([a.tags for a in answers], ""),
                "confidences": _padded([a.confidences for a in answers], 0.0),
            }
        answers = self.trained.classify(rows)
        shares = np.array([list(a.probabilities.values()) for a in answers], "float32")
        return {"label": np.array([a.label for a in answers], object), "probabilities": shares}

    def from_text(self, text):
        """Signature `default`: str `[N]`."""
        return self._answer(*self._read(text))

    def from_tokens(self, tokens, sequence_len):
        """Signature `tokens`: str `[N, T]` with lengths int32 `[N]`."""
        tokens, sequence_len = cut_tokens(tokens, sequence_len, self.longest)
        if self.reads_pieces:
            return self.from_text(tf.strings.reduce_join(tokens, axis=1, separator=" "))
        return self._answer(*self._of_tokens(tokens, sequence_len))

    def explain_text(self, text):
        """Signature `explain`: str `[N]`."""
        features, tokens, sequence_len = self._read(text)
        answer = {**self._answer(features, tokens, sequence_len), "tokens": tokens}
        explain = explain_tags if self.trained.is_tagger else explain_label
        answer |= explain(self.model, features)
        strings = None if self.trained.tokenizer is None else self.indexer.strings
        return {**answer, **explain_attention(self.model, features, tokens, strings)}

    def _read(self, text):
        """Raw text `[N]` to what the model reads, its tokens `[N, T]` and their number."""
        if self.reads_pieces:
            features = self.indexer.of_texts(text, self.trained.max_length)
            pieces = tf.where(features["mask"], self.indexer.strings(features["token_ids"]), "")
            return features, pieces, _count(features["mask"])
        tokens = tokenize(text, self.trained.tokens)  # [N, T]
        return self._of_tokens(*cut_tokens(tokens, _count(tokens != ""), self.longest))

    def _of_tokens(self, tokens, sequence_len):
        features = self.indexer(tokens)
        if self.room is not None:
            real = features["piece_ids"] != self.trained.tokenizer.padding_id  # [N, T, W]
            ends = tf.cumsum(tf.reduce_sum(tf.cast(real, tf.int32), axis=2), axis=1)  # [N, T]
            sequence_len = tf.minimum(sequence_len, _count(ends <= self.room))
            tokens = tf.where(tf.sequence_mask(sequence_len, tf.shape(tokens)[1]), tokens, "")
        if self.trained.is_tagger:  # where an empty token counts
            features["mask"] = tf.sequence_mask(sequence_len, tf.shape(tokens)[1])
        return features, tokens, sequence_len

    def _answer(self, features, tokens, sequence_len):
        if self.trained.is_tagger:
            return _tagged(self.trained, features, tokens, sequence_len)
        return {**_classified(self.trained, features), "sequence_len": sequence_len}


def text_counts(trained):
    """How raw texts are cut, for servers to count: see `tfreps.export.text_counts`."""
    if trained.tokenizer is None:
        return {
            "tokens": trained.tokens,
            "most_per_text": trained.max_length,
            "added_per_text": 0,
            "attends": trained.model.find(TransformerEncoder) is not None,
        }
    how = "characters"
    most = trained.max_length
    if trained.is_tagger:  # which cuts a text only once all of its words are pieces
        if not isinstance(trained.tokenizer, CharacterTokenizer):
            how = "bert_words"
        most = None
    return {"tokens": how, "most_per_text": most, "added_per_text": 2, "attends": False}


def check_exportable(model):
    """Refuses a model that reads what raw text does not have."""
    if model.reads_vectors:
        raise ValueError(
            "The model reads vectors that `tfreps embed` stored, which a server does not have: "
            "train it on the biLM itself, which computes them."
        )


def _tagged(trained, features, tokens, sequence_len):
    found = trained.model.tag(features)
    names = tf.constant([*trained.names, ""])
    tags = tf.where(features["mask"], found["tags"], len(trained.names))
    answer = {
        "tokens": tokens,
        "tags": tf.gather(names, tags),
        "confidences": found["confidences"],
        "sequence_len": sequence_len,
    }
    if trained.scheme is not None:
        rules = span_rules(trained.names, trained.scheme)
        types, starts, ends = padded_spans(found["tags"], sequence_len, rules)
        kinds = tf.constant([*rules.type_names, ""])
        answer["span_types"] = tf.gather(kinds, tf.where(types < 0, len(rules.type_names), types))
        answer |= {"span_starts": starts, "span_ends": ends}
        answer["num_spans"] = tf.reduce_sum(tf.cast(types >= 0, tf.int32), axis=1)
    return answer


def _classified(trained, features):
    probabilities = trained.model(features)["probabilities"]  # [N, K]
    labels = tf.constant(trained.names)
    return {
        "label": tf.gather(labels, tf.argmax(probabilities, axis=1)),
        "probability": tf.reduce_max(probabilities, axis=1),
        "labels": tf.repeat(labels[None], tf.shape(probabilities)[0], axis=0),
        "probabilities": probabilities,
    }


def _count(mask):
    return tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)


def _padded(rows, filler):
    """Lists of different lengths as one array, of strings or of float32."""
    longest = max(map(len, rows), default=0)
    kind = object if filler == "" else "float32"
    filled = [[*row, *[filler] * (longest - len(row))] for row in rows]
    return np.array(filled, kind).reshape(len(rows), longest)
