"""Signatures of taggers and classifiers, from raw strings to tags and labels."""

import numpy as np
import tensorflow as tf

from tfreps._src.export.explanations import explain_attention, explain_label, explain_tags
from tfreps._src.export.signature_base import (
    Signatures,
    asset_folder,
    count,
    cut_tokens,
    is_long,
    read_pieces,
    with_vocabulary,
)
from tfreps._src.export.stored_weights import StoredWeights
from tfreps._src.models.transformer_encoder import TransformerEncoder
from tfreps._src.text.bert.character_tokens import CharacterTokenizer
from tfreps._src.text.token_offsets import token_offsets
from tfreps._src.text.tokenizers import tokenize


class TextSignatures(Signatures):
    """Signatures of an exported tagger or classifier: `default`, `tokens` and `explain`.

    Raw text is tokenized as in training. A tagger returns

        tokens          str [N, T], the tokens that were read, "" on padding
        tags            str [N, T], the tag of each token, "" on padding
        confidences     float32 [N, T], the probability of each tag in `tags`, 0 on padding
        sequence_len    int32 [N]

    and, if it has a tag scheme, the spans of each sentence from left to right:

        span_types                  str [N, S], "" after a sentence's last span
        span_starts, span_ends      int32 [N, S], indices of tokens; the end is exclusive
        span_confidences            float32 [N, S], the posterior probability of each span
        num_spans                   int32 [N]

    From raw text, it also returns the position of each span in the text:

        span_start_chars, span_end_chars    int32 [N, S], in Unicode code points; the end is
                                            exclusive

    A classifier returns

        label             str [N], the most probable label
        probability       float32 [N], its probability
        labels            str [N, K], all labels, the same in every row
        probabilities     float32 [N, K], the probability of each label in `labels`
        sequence_len      int32 [N], the number of tokens that were read

    A classifier truncates texts to `trained.max_length` tokens, unless `max_length` is `None`. A
    classifier on a BERT model treats `tokens` as words and splits them into pieces; its
    `max_length` and its output `sequence_len` count pieces, including `[CLS]` and `[SEP]`.
    Sentences of a tagger on a BERT model are truncated after the last word whose pieces all fit
    within `max_length`; its output `sequence_len` is the number of words that were read.

    `explain` returns all outputs of `default`, the `tokens` or pieces that were read, and the
    outputs of those functions in `export.explanations` that apply to the model.

    Args:
        trained: `tfreps.inference.TextTagger` or `TextClassifier`.
        explain: bool. Whether to add the signature `explain`. Defaults to `False`.
        core_ops: bool. Whether the export uses only core TensorFlow operations. If `False`, an
            operation of TensorFlow Text splits the words for a BERT model into pieces. Defaults to
            `True`.
    """

    def __init__(self, trained, explain=False, core_ops=True):
        if trained.model._reads_vectors:
            raise ValueError(
                "The model reads vectors that `tfreps embed` stored, which a server does not have. "
                "Export a model that was trained on the biLM itself, which computes the vectors."
            )
        self.trained = trained
        self.model = trained.model
        self.indexer = with_vocabulary(trained.indexer, asset_folder(self), core_ops)
        encoder = self.model.parts().get("encoder")  # `None` for an HMM, which has no encoder
        parts = [type(part).__name__ for part in (self.model, encoder) if part is not None]
        size = self.model.count_params()
        title = f"{trained.kind} with {size:,} parameters ({' on '.join(parts)})"
        super().__init__(self.indexer, StoredWeights([self.model]), title, explain)
        self.outputs = self.weights.shared(self._outputs)
        # A classifier or embedder on a BERT model reads the pieces of texts. Other models read
        # tokens.
        self.reads_pieces = trained.tokenizer is not None and not trained.is_tagger
        self.longest = None if trained.tokenizer is not None else trained.max_length
        self.text_counts = text_counts(trained)
        tokenizer = trained.tokenizer
        self.max_pieces = tokenizer.max_pieces(trained.max_length) if tokenizer else None

    def expected(self, texts):
        rows = self.trained.tokenize(texts)
        if self.trained.is_tagger:
            predictions = self.trained.tag(rows)
            return {
                "tokens": _padded(rows, ""),
                "tags": _padded([a.tags for a in predictions], ""),
                "confidences": _padded([a.confidences for a in predictions], 0.0),
            }
        predictions = self.trained.classify(rows)
        shares = np.array([list(a.probabilities.values()) for a in predictions], "float32")
        return {"label": np.array([a.label for a in predictions], object), "probabilities": shares}

    def from_text(self, text):
        features, tokens, sequence_len = self._read(text)
        return self._with_characters(text, self.outputs(features, tokens, sequence_len))

    def from_tokens(self, tokens, sequence_len):
        tokens, sequence_len = cut_tokens(tokens, sequence_len, self.longest)
        if self.reads_pieces:
            return self.from_text(tf.strings.reduce_join(tokens, axis=1, separator=" "))
        return self.outputs(*self._of_tokens(tokens, sequence_len))

    def explain_text(self, text):
        features, tokens, sequence_len = self._read(text)
        outputs = self._with_characters(text, self.outputs(features, tokens, sequence_len))
        outputs["tokens"] = tokens
        outputs |= self._explained(features)
        strings = None if self.trained.tokenizer is None else self.indexer.ids_to_pieces
        return {**outputs, **explain_attention(self.model, features, tokens, strings)}

    def _with_characters(self, text, outputs):
        """Returns a copy of a dict of outputs, with the positions of spans in the raw text added.

        For a classifier, and for a tagger without a tag scheme, nothing is added.
        """
        if "span_starts" not in outputs:
            return {**outputs}
        places = (outputs[name] for name in ("span_starts", "span_ends"))
        found = span_characters(text, outputs["tokens"], self.trained.tokens, *places)
        return {**outputs, "span_start_chars": found[0], "span_end_chars": found[1]}

    def _explained(self, features):
        """Returns a dict of the outputs that explain the tags or the label, from `features`."""
        explain = explain_tags if self.trained.is_tagger else explain_label
        return explain(self.model, features)

    def _read(self, text):
        """Tokenizes raw texts, `[N]`, and truncates them if the model limits their length.

        Returns the dict of features for the model, the tokens or pieces `[N, T]`, and the number of
        tokens or pieces in each text, `[N]`.
        """
        if self.reads_pieces:
            return read_pieces(self.indexer, text, self.trained.max_length)
        tokens = tokenize(text, self.trained.tokens)  # [N, T]
        return self._of_tokens(*cut_tokens(tokens, count(tokens != ""), self.longest))

    def _of_tokens(self, tokens, sequence_len):
        features = self.indexer(tokens)
        if self.max_pieces is not None:
            real = features["piece_ids"] != self.trained.tokenizer.padding_id  # [N, T, W]
            ends = tf.cumsum(tf.reduce_sum(tf.cast(real, tf.int32), axis=2), axis=1)  # [N, T]
            sequence_len = tf.minimum(sequence_len, count(ends <= self.max_pieces))
            tokens = tf.where(tf.sequence_mask(sequence_len, tf.shape(tokens)[1]), tokens, "")
        if self.trained.is_tagger:  # the mask includes empty tokens, because they are tagged too
            features["mask"] = tf.sequence_mask(sequence_len, tf.shape(tokens)[1])
        return features, tokens, sequence_len

    def _outputs(self, features, tokens, sequence_len):
        if self.trained.is_tagger:
            return _tagged(self.trained, features, tokens, sequence_len)
        return {**_classified(self.trained, features), "sequence_len": sequence_len}


def text_counts(trained):
    """Returns a dict that says how to count the tokens of a text and how many the model reads.

    `trained` is a `TextTagger`, `TextClassifier` or `TextEmbedder`. The keys of the dict are
    described at the attribute `text_counts` of `Signatures`.
    """
    if trained.tokenizer is None:
        return {
            "tokens": trained.tokens,
            "most_per_text": trained.max_length,
            "added_per_text": 0,
            "attends": trained.model.find(TransformerEncoder) is not None,
        }
    how = "characters"
    most = trained.max_length
    if trained.is_tagger:  # a tagger splits the whole text into pieces before truncating it
        if trained.tokens in ("characters", "all_characters"):
            how = trained.tokens
        elif not isinstance(trained.tokenizer, CharacterTokenizer):
            how = "bert_words"
        most = None
    attends = is_long(trained.max_length)
    return {"tokens": how, "most_per_text": most, "added_per_text": 2, "attends": attends}


def _tagged(trained, features, tokens, sequence_len):
    found = trained.model.tag(features)
    names = tf.constant([*trained.names, ""])
    tags = tf.where(features["mask"], found["tags"], len(trained.names))
    outputs = {
        "tokens": tokens,
        "tags": tf.gather(names, tags),
        "confidences": found["confidences"],
        "sequence_len": sequence_len,
    }
    if trained.scheme is not None:
        types, starts, ends = tf.unstack(found["spans"], axis=2)  # [N, S]
        kinds = trained.model.span_types
        types = tf.where(types < 0, len(kinds), types)
        outputs["span_types"] = tf.gather(tf.constant([*kinds, ""]), types)
        outputs |= {"span_starts": starts, "span_ends": ends}
        outputs["span_confidences"] = found["span_confidences"]
        outputs["num_spans"] = count(ends > 0)
    return outputs


def span_characters(text, tokens, method, starts, ends):
    """Locates spans of tokens in raw texts.

    Args:
        text: str `[N]`. The raw texts.
        tokens: str `[N, T]`. The tokens of the texts.
        method: str. The tokenization that produced the tokens.
        starts, ends: int32 `[N, S]`. For each span, the index of its first token and the index of
            the token after its last token; 0 after the last span of a text.

    Returns:
        Two int32 tensors `[N, S]`: the position of the first character of each span, and the
        position after its last character, in Unicode code points; 0 after the last span of a text.
    """
    token_starts, token_ends = token_offsets(text, tokens, method)  # [N, T]
    is_span = ends > 0
    last = tf.where(is_span, ends - 1, 0)
    # A text without tokens has no spans, but the gather needs one column.
    first, last = (
        tf.gather(tf.pad(x, [[0, 0], [0, 1]]), at, batch_dims=1)
        for x, at in ((token_starts, starts), (token_ends, last))
    )
    return tf.where(is_span, first, 0), tf.where(is_span, last, 0)


def _classified(trained, features):
    probabilities = trained.model(features)["probabilities"]  # [N, K]
    labels = tf.constant(trained.names)
    return {
        "label": tf.gather(labels, tf.argmax(probabilities, axis=1)),
        "probability": tf.reduce_max(probabilities, axis=1),
        "labels": tf.repeat(labels[None], tf.shape(probabilities)[0], axis=0),
        "probabilities": probabilities,
    }


def _padded(rows, filler):
    """Converts N lists of strings or floats to an array `[N, T]`, padded with `filler`."""
    longest = max(map(len, rows), default=0)
    kind = object if filler == "" else "float32"
    filled = [[*row, *[filler] * (longest - len(row))] for row in rows]
    return np.array(filled, kind).reshape(len(rows), longest)
