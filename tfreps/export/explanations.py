"""explain: scores and attention that explain an answer, as dense tensors."""

import tensorflow as tf

from tfreps.models import BertEncoder, PieceEncoder, TransformerEncoder

NUM_PATHS = 5
LOWEST = float(tf.float32.min)


def explain_tags(model, features):
    """The k best sequences of tags, and the probability of every tag.

    Args:
        model: `Tagger` or `HMMTagger`.
        features: dict, what it reads.

    Returns:
        dict of `path_tags` str `[N, k, T]`, best first, `""` on padding and where there are fewer
        sequences; `path_scores` float32 `[N, k]`, the logarithm of each one's probability,
        -3.4e38 where there is none, which JSON can write; `path_probabilities` float32 `[N, k]`,
        0 there; `marginals` float32 `[N, T, K]`, 0 on padding; `tag_names` str `[N, K]`, the same
        in every row.
    """
    outputs = model(features)
    mask = outputs["mask"]  # [N, T]
    paths, scores = model.decode(outputs, k=NUM_PATHS)  # [N, k, T], [N, k]
    scores -= model.log_normalizer(outputs)[:, None]
    there = tf.math.is_finite(scores)
    names = tf.constant(model.tags)
    real = mask[:, None, :] & there[..., None]
    return {
        "path_tags": tf.where(real, tf.gather(names, paths), ""),
        "path_scores": tf.where(there, scores, LOWEST),
        "path_probabilities": tf.where(there, tf.exp(scores), 0.0),
        "marginals": tf.where(mask[..., None], model.marginals(outputs), 0.0),
        "tag_names": tf.repeat(names[None], tf.shape(mask)[0], axis=0),
    }


def explain_label(model, features):
    """How much of each token a classifier takes, where its pooling has weights.

    Args:
        model: `Classifier`.
        features: dict, what it reads.

    Returns:
        dict of `token_weights` float32 `[N, T]`, 0 on padding, of `pooling="attention"`; else
        empty.
    """
    if model.pooling != "attention":
        return {}
    return {"token_weights": model.token_weights(features)}


def explain_attention(model, features, tokens, strings=None):
    """Who reads whom in the Transformer of a tagger or classifier, or in a BERT.

    Args:
        model: any model of tfreps.
        features: dict, what it reads.
        tokens: str `[N, T]`, the tokens of `features`, `""` on padding.
        strings: function from ids of pieces to str, of a tagger on a BERT.

    Returns:
        dict of `attention` float32 `[N, L, H, P, P]` (layer, head, from, to), rows of real tokens
        add up to 1, others are 0; and `attention_tokens` str `[N, P]`, their names, `""` on
        padding. Empty without a Transformer.
    """
    pieces = model.find(PieceEncoder)
    if pieces is not None:
        ids, attention = pieces.attention(features)
        names = tf.where(ids == pieces.encoder.padding_id, "", strings(ids))
        return {"attention": attention, "attention_tokens": names}
    transformer = model.find(BertEncoder, TransformerEncoder)
    if transformer is None:
        return {}
    return {"attention": transformer.attention(features), "attention_tokens": tokens}
