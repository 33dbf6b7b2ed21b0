"""MEANINGS: descriptions of the inputs and outputs of an export, for its README."""

import re

LETTERS = (
    "N sentences, T tokens (of the longest sentence in the batch), C characters, D features, K "
    "tags or labels, S spans, k paths, L layers, H heads, P pieces"
)

# Name (a regular expression) -> letters of its axes, and description.
MEANINGS = {
    "text": ("N", "raw sentences or texts, UTF-8"),
    "tokens": ("NT", 'the tokens, `""` on padding'),
    "sequence_len": ("N", "number of tokens of each sentence; the rest is padding"),
    "character_ids": ("NTC", "ids of each token's characters"),
    "token_ids": ("NT", "vocabulary ids plus 1"),
    "default": ("ND", "one vector per sentence: the mean of its tokens' vectors"),
    "elmo": ("NTD", "contextual vector of each token: the mix of all layers"),
    "word_emb": ("NTD", "vector of each token without context"),
    r"lstm_outputs\d+": ("NTD", "vectors of one layer"),
    "sequence_output": ("NTD", "contextual vector of each token, 0 on padding"),
    "pooled_output": ("ND", "one vector per text, from the pooler"),
    "batch_size": ("", "number of sentences to score"),
    "(forward|backward)_(hidden|cell)": ("NLD", "states of the language model, input and output"),
    "nll": ("N", "-log p of the sentence in nats, sum of both directions"),
    "(forward|backward)_nll": ("N", "-log p of the sentence in nats in this direction"),
    "token_count": ("N", "predictions per direction: one per token, plus one for the boundary"),
    "forward_surprise": ("NT", "-log p(token | all tokens before it) in nats, 0 on padding"),
    "backward_surprise": ("NT", "-log p(token | all tokens after it) in nats, 0 on padding"),
    "end_surprise": ("N", "-log p(the sentence ends | all its tokens) in nats"),
    "start_surprise": ("N", "-log p(the sentence starts | all its tokens) in nats"),
    "in_vocabulary": ("NT", "1 if the vocabulary has the token, 0 if it is read as `<UNK>`"),
    "tags": ("NT", 'the best legal tag sequence, `""` on padding'),
    "confidences": ("NT", "probability of each tag in `tags`, 0 on padding"),
    "span_types": ("NS", 'types of the spans, in order, `""` after the last span'),
    "span_starts": ("NS", "index of the first token of each span, from 0"),
    "span_ends": ("NS", "index after the last token of each span"),
    "num_spans": ("N", "number of spans of each sentence"),
    "path_tags": ("NkT", "the best tag sequences, best first"),
    "path_scores": ("Nk", "log-probability of each path, -3.4e38 if there are fewer paths"),
    "path_probabilities": ("Nk", "probability of each path"),
    "marginals": ("NTK", "probability of each tag at each token"),
    "tag_names": ("NK", "the tags, in the order of `marginals`; the same in every row"),
    "label": ("N", "the most probable label"),
    "probability": ("N", "probability of `label`"),
    "labels": ("NK", "all labels, the same in every row"),
    "probabilities": ("NK", "probability of each label in `labels`"),
    "token_weights": ("NT", "weight of each token in the pooling; the weights sum to 1"),
    "attention": ("NLHPP", "attention weights (from, to); rows of real pieces sum to 1"),
    "attention_tokens": ("NP", 'the tokens or pieces of `attention`, `""` on padding'),
}


def meaning(name: str) -> tuple[str, str]:
    """Returns the axes and the description of an input or output.

    Returns:
        Tuple `(letters, description)` of two str. `letters` has one letter of `LETTERS` per axis.

    Raises:
        ValueError: If `MEANINGS` has no entry for the name.

    Example:
    >>> meaning("lstm_outputs2")
    ('NTD', 'vectors of one layer')
    """
    for pattern, found in MEANINGS.items():
        if re.fullmatch(pattern, name):
            return found
    raise ValueError(f"`MEANINGS` has no entry for {name!r}. Add one in {__name__}.")
