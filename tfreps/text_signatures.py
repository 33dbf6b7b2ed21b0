"""Signatures of taggers and classifiers: raw strings in, tags, spans and labels as strings out."""

import tensorflow as tf

from tfreps.saved_model import save_whole
from tfreps.text.graph_spans import padded_spans
from tfreps.text.tag_schemes import span_rules
from tfreps.text.tokenizers import tokenize


def export_text_model(trained, folder):
    """Writes a tagger or classifier as a SavedModel that takes raw strings.

    The folder appears whole or not at all, and needs TensorFlow alone. Its signatures are
    `default` (also called `serving_default`), for raw text, cut as in training, and `tokens`:

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
    cut. A classifier answers

        label             str [N], the likeliest
        probability       float32 [N], its probability
        labels            str [N, K], all labels, the same in every row
        probabilities     float32 [N, K]
        sequence_len      int32 [N], the tokens that were read

    Args:
        trained: `tfreps.text_model.TextModel`.
        folder: path that does not exist yet, or an empty folder.

    Returns:
        The names of the signatures, a list of str.

    Raises:
        ValueError: the folder holds something, or the model reads stored vectors, which raw text
            does not have.
    """
    check_exportable(trained.model)
    module = tf.Module()
    module.weights = [variable.value for variable in trained.model.variables]
    module.features = trained.features
    answer = _tagged if trained.is_tagger else _classified_tokens
    reads_pieces = trained.tokenizer is not None and not trained.is_tagger
    longest = None if trained.tokenizer is not None else trained.max_length

    def from_tokens(tokens, sequence_len):
        tokens, sequence_len = _cut(tokens, sequence_len, longest)
        if reads_pieces:
            return from_text(tf.strings.reduce_join(tokens, axis=1, separator=" "))
        return answer(trained, tokens, sequence_len)

    def from_text(text):
        if reads_pieces:
            return _classified(trained, trained.features.of_texts(text, trained.max_length))
        tokens = tokenize(text, trained.tokens)  # [N, T]
        return from_tokens(tokens, tf.reduce_sum(tf.cast(tokens != "", tf.int32), axis=1))

    text = tf.TensorSpec([None], tf.string, "text")
    tokens = tf.TensorSpec([None, None], tf.string, "tokens")
    lengths = tf.TensorSpec([None], tf.int32, "sequence_len")
    default = tf.function(from_text, autograph=False).get_concrete_function(text)
    functions = {
        "default": default,
        "serving_default": default,
        "tokens": tf.function(from_tokens, autograph=False).get_concrete_function(tokens, lengths),
    }
    save_whole(module, folder, functions)
    return list(functions)


def check_exportable(model):
    """Refuses a model that reads what raw text does not have."""
    encoder = getattr(model, "encoder", None)
    if getattr(getattr(encoder, "embedder", encoder), "vector_layers", 0):
        raise ValueError(
            "The model reads vectors that `tfreps embed` stored, which a server does not have: "
            "train it with --elmo instead, which computes them."
        )


def _cut(tokens, sequence_len, max_length):
    """Tokens `[N, T]` with `""` beyond each sentence's length, and the lengths."""
    rows, longest = tf.unstack(tf.shape(tokens))
    fits = tf.reduce_all((sequence_len >= 0) & (sequence_len <= longest))
    fits &= tf.size(sequence_len) == rows
    message = "sequence_len must have one value per row of tokens, none above its length"
    tf.debugging.Assert(fits, [message, sequence_len, tf.shape(tokens)])
    tokens = tokens[:, :max_length]
    sequence_len = tf.minimum(sequence_len, tf.shape(tokens)[1])
    tokens = tf.where(tf.sequence_mask(sequence_len, tf.shape(tokens)[1]), tokens, "")
    return tokens, sequence_len


def _tagged(trained, tokens, sequence_len):
    features = trained.features(tokens)
    features["mask"] = tf.sequence_mask(sequence_len, tf.shape(tokens)[1])
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


def _classified_tokens(trained, tokens, sequence_len):
    return {**_classified(trained, trained.features(tokens)), "sequence_len": sequence_len}


def _classified(trained, features):
    probabilities = trained.model(features)["probabilities"]  # [N, K]
    labels = tf.constant(trained.names)
    return {
        "label": tf.gather(labels, tf.argmax(probabilities, axis=1)),
        "probability": tf.reduce_max(probabilities, axis=1),
        "labels": tf.repeat(labels[None], tf.shape(probabilities)[0], axis=0),
        "probabilities": probabilities,
        "sequence_len": tf.reduce_sum(tf.cast(features["mask"], tf.int32), axis=1),
    }
