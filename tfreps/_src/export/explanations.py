"""Outputs of the signature `explain`: scores and attention as dense tensors."""

import tensorflow as tf

from tfreps._src.models.bert import BertEncoder
from tfreps._src.models.piece_encoder import PieceEncoder
from tfreps._src.models.transformer_encoder import TransformerEncoder

NUM_PATHS = 5
LOWEST = float(tf.float32.min)


def explain_tags(model, features):
    """Computes the k best tag sequences, k = 5, and the probability of each tag at each token.

    Args:
        model: `Tagger` or `HMMTagger`.
        features: dict. The features, as passed to `call` of the model.

    Returns:
        dict of tensors: `path_tags` str `[N, k, T]`, best first, with `""` on padding;
        `path_scores` float32 `[N, k]`, their log-probabilities; `path_probabilities` float32
        `[N, k]`; `marginals` float32 `[N, T, K]`, 0 on padding; `tag_names` str `[N, K]`, the same
        in every row. If there are fewer than k sequences, the remaining ones have `""` as tags, the
        score -3.4e38 (since JSON cannot represent minus infinity) and the probability 0.
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
    """Computes the weight of each token in a classifier that pools the tokens by attention.

    Returns a dict with `token_weights`, float32 `[N, T]`, which are 0 on padding. For a classifier
    with another pooling, the dict is empty. `features` are passed to `call` of `model`.
    """
    if model.pooling != "attention":
        return {}
    return {"token_weights": model.token_weights(features)}


def explain_attention(model, features, tokens, strings=None):
    """Computes the attention of a BERT model or of the Transformer in a tagger or classifier.

    Args:
        model: Any tfreps model.
        features: dict. The features, as passed to `call` of the model.
        tokens: str tensor of shape `[N, T]`. The tokens or pieces, with `""` on padding.
        strings: function or None. Converts piece ids to strings. Required for a tagger on a BERT
            model. Defaults to `None`.

    Returns:
        dict of `attention`, float32 `[N, L, H, P, P]` (layer, head, from, to), whose rows sum to 1
        for real tokens and are 0 on padding, and `attention_tokens`, str `[N, P]`, the tokens or
        pieces that the Transformer reads. The dict is empty if the model has no Transformer.
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
