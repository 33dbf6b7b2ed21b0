"""MEANINGS: every input and output of an export by its name, as the README beside it tells it."""

import re

LETTERS = (
    "N sentences, T tokens (of the longest sentence), C characters, D features, K tags or labels, "
    "S spans, k paths, L layers, H heads, P pieces"
)

# Name (a regular expression) -> letters of its axes, and what it is.
MEANINGS = {
    "text": ("N", "sentences or texts, raw, UTF-8"),
    "tokens": ("NT", 'the tokens, `""` on padding'),
    "sequence_len": ("N", "tokens of each sentence: what lies behind them is padding"),
    "character_ids": ("NTC", "ids of each token's characters"),
    "token_ids": ("NT", "vocabulary ids plus 1"),
    "default": ("ND", "one vector per sentence: the mean of its tokens' vectors"),
    "elmo": ("NTD", "a contextual vector per token: the mix of all layers"),
    "word_emb": ("NTD", "a vector per token without its context"),
    r"lstm_outputs\d+": ("NTD", "vectors of one layer"),
    "sequence_output": ("NTD", "a contextual vector per token, 0 on padding"),
    "pooled_output": ("ND", "one vector per text, of the pooler"),
    "batch_size": ("", "how many sentences are going to be scored"),
    "(forward|backward)_(hidden|cell)": ("NLD", "states of the language model, in and out"),
    "nll": ("N", "-log p of the sentence in nats, both directions together"),
    "(forward|backward)_nll": ("N", "-log p of the sentence in nats, read that way"),
    "token_count": ("N", "predictions per direction: tokens and the end"),
    "forward_surprise": ("NT", "-log p(token | all before it) in nats, 0 on padding"),
    "backward_surprise": ("NT", "-log p(token | all behind it) in nats, 0 on padding"),
    "end_surprise": ("N", "-log p(the sentence ends | all its tokens) in nats"),
    "start_surprise": ("N", "-log p(the sentence starts | all its tokens) in nats, backward"),
    "in_vocabulary": ("NT", "1 where the vocabulary has the token, 0 where it is `<UNK>`"),
    "tags": ("NT", 'the best legal sequence of tags, `""` on padding'),
    "confidences": ("NT", "probability of each of these tags, 0 on padding"),
    "span_types": ("NS", 'types of the spans, in their order, `""` behind the last'),
    "span_starts": ("NS", "first token of each span, from 0"),
    "span_ends": ("NS", "one behind the last token of each span"),
    "num_spans": ("N", "spans of each sentence"),
    "path_tags": ("NkT", "the best sequences of tags, the best first"),
    "path_scores": ("Nk", "log p of each path, -3.4e38 where there are fewer paths"),
    "path_probabilities": ("Nk", "p of each path"),
    "marginals": ("NTK", "probability of every tag at every token"),
    "tag_names": ("NK", "the tags, in the order of `marginals`; the same in every row"),
    "label": ("N", "the likeliest label"),
    "probability": ("N", "its probability"),
    "labels": ("NK", "all labels, the same in every row"),
    "probabilities": ("NK", "probability of each of the labels"),
    "token_weights": ("NT", "how much of each token the pooling takes; sums to 1"),
    "attention": ("NLHPP", "how much each piece (from) reads of each other (to)"),
    "attention_tokens": ("NP", 'the pieces that attention runs over, `""` on padding'),
}


def meaning(name: str) -> tuple[str, str]:
    """The letters of an input's or output's axes, and what it is.

    Raises:
        ValueError: there is no entry for it.

    Example:
    >>> meaning("lstm_outputs2")
    ('NTD', 'vectors of one layer')
    """
    for pattern, found in MEANINGS.items():
        if re.fullmatch(pattern, name):
            return found
    raise ValueError(f"There is no meaning of {name!r} in {__name__}: add it.")
