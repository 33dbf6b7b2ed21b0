"""Weights of Transformers by the names that docs/by_hand/ uses, as float64 arrays."""

import numpy as np


def arrays(layer):
    return [np.asarray(weight, "float64") for weight in layer.weights]


def block_weights(layer):
    """Returns the weights of a `TransformerBlock` or `SelfAttention`."""
    attention = getattr(layer, "attention", layer)
    kernel, bias = arrays(attention.query_key_value)
    found = {}
    for name, W, b in zip("QKV", np.split(kernel, 3, axis=1), np.split(bias, 3), strict=True):
        found |= {f"W_{name}": W, f"b_{name}": b}
    found["W_O"], found["b_O"] = arrays(attention.combine)
    if attention is not layer:
        found["W_1"], found["b_1"] = arrays(layer.expand)
        found["W_2"], found["b_2"] = arrays(layer.contract)
        found["gamma_1"], found["beta_1"] = arrays(layer.attention_norm)
        found["gamma_2"], found["beta_2"] = arrays(layer.feed_forward_norm)
    return found


def bert_weights(encoder):
    """Returns the weights of a `BertEncoder` with segments, of its pooler too if it has one."""
    (token,), (position,) = arrays(encoder.token_embedding), arrays(encoder.add_positions)
    found = {"token": token, "position": position}
    (found["segment"],) = arrays(encoder.segment_embedding)
    found["gamma"], found["beta"] = arrays(encoder.embedding_norm)
    found["layers"] = [block_weights(block) for block in encoder.blocks]
    if encoder.pooler_dense is not None:
        found["W_P"], found["b_P"] = arrays(encoder.pooler_dense)
    return found


def pretrainer_weights(model):
    """Returns the weights of a `BertPretrainer`, those of its encoder included."""
    found = bert_weights(model.encoder)
    found["W_T"], found["b_T"] = arrays(model.transform)
    found["gamma_T"], found["beta_T"] = arrays(model.transform_norm)
    found["b"] = np.asarray(model.token_bias, "float64")
    if model.next_sentence:
        found["W_N"], found["b_N"] = arrays(model.next_sentence_dense)
    return found
