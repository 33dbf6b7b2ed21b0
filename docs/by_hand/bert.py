"""BERT in NumPy loops: WordPiece, masked tokens, the encoder and its losses; see bert.md."""

import string
import unicodedata

import numpy as np

from docs.by_hand.transformer import ACTIVATIONS, block, layer_norm


def words(text):
    """Returns the words of a text in lower case, with punctuation and Chinese characters apart."""
    found, word = [], ""
    for c in unicodedata.normalize("NFD", text.lower()) + " ":
        if unicodedata.category(c) == "Mn":  # an accent
            continue
        is_mark = unicodedata.category(c)[0] == "P" or c in string.punctuation
        if c.isspace() or is_mark or "\u4e00" <= c <= "\u9fff":
            found += [word, c]
            word = ""
        else:
            word += c
    return [part for part in found if part.strip()]


def word_pieces(word, vocabulary):
    """Returns the pieces of a word: from the left, always the longest one in the vocabulary."""
    pieces, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = ("##" if start else "") + word[start:end]
            if piece in vocabulary:
                break
        else:
            return ["[UNK]"]
        pieces.append(piece)
        start = end
    return pieces


def pack(first, second, vocabulary):
    """Returns the ids of [CLS] first [SEP] second [SEP], and the segment of each."""
    pieces = ["[CLS]", *first, "[SEP]", *second, "[SEP]"]
    segments = [0] * (len(first) + 2) + [1] * (len(second) + 1)
    return [vocabulary.index(piece) for piece in pieces], segments


def hide(ids, special, mask_id, num_ids, rate, rng):
    """Returns the ids after masking, the masked positions and the original ids there."""
    ordinary = [n for n in range(num_ids) if n not in special]
    places = [t for t, n in enumerate(ids) if n not in special]
    count = int(rate * len(places) + rng.random())  # on average, rate * len(places)
    positions = sorted(rng.permutation(places)[:count].tolist())
    hidden = list(ids)
    for t in positions:
        draw = rng.random()
        if draw < 0.8:
            hidden[t] = mask_id
        elif draw < 0.9:
            hidden[t] = int(rng.choice(ordinary))
    return hidden, positions, [ids[t] for t in positions]


def embed(ids, segments, weights):
    """Computes layer_norm(token_table[id] + position_table[t] + segment_table[segment])."""
    x = [
        weights["token"][n] + weights["position"][t] + weights["segment"][segment]
        for t, (n, segment) in enumerate(zip(ids, segments, strict=True))
    ]
    return layer_norm(np.array(x), weights["gamma"], weights["beta"])  # [T, D]


def bert(ids, segments, weights, options):
    """Computes the outputs of all layers, `[L + 1, T, D]`, and the pooled output, `[D]`."""
    layers = [embed(ids, segments, weights)]
    for layer in weights["layers"]:
        layers.append(block(layers[-1], layer, options, [True] * len(ids))[0])
    pooled = np.tanh(layers[-1][0] @ weights["W_P"] + weights["b_P"])
    return np.array(layers), pooled


def token_logits(h, weights):
    """Computes layer_norm(gelu(h W_T + b_T)) token_table^T + b for one masked position."""
    v = np.array([ACTIVATIONS["gelu"](z) for z in h @ weights["W_T"] + weights["b_T"]])
    v = layer_norm(v[None], weights["gamma_T"], weights["beta_T"])[0]  # [D]
    return weights["token"] @ v + weights["b"]  # [V]


def negative_log_likelihood(logits, target):
    """Computes log(sum of exp(logits)) - logits[target]."""
    return np.log(np.exp(logits).sum()) - logits[target]


def masked_lm_loss(h, positions, targets, weights):
    """Computes the mean of -log p(original token) over the masked positions of a text."""
    losses = [
        negative_log_likelihood(token_logits(h[t], weights), target)
        for t, target in zip(positions, targets, strict=True)
    ]
    return sum(losses) / len(losses)


def next_sentence_loss(pooled, label, weights):
    """Computes -log p(label) from the pooled output; label 0 means that the second follows."""
    return negative_log_likelihood(pooled @ weights["W_N"] + weights["b_N"], label)
