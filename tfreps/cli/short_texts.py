"""run_short_text_eagerly: runs a model eagerly if all of its input is one small batch."""

MOST_TOKENS = 256  # including padding
LONGEST = 32  # tokens; an LSTM that runs eagerly takes about as long for 64 tokens as tracing


def run_short_text_eagerly(model, sentences, is_all: bool) -> None:
    """Lets a model run eagerly if all of its input is one small batch of short sentences.

    Tracing a tagger takes longer than computing such a batch (`python -m benchmarks.startup`). It
    saves time if several batches or many steps of an LSTM use the trace. A model that computes in
    16 bits is always traced: a trace rounds fewer values, so that a sentence alone would have other
    scores than in a long text.

    Args:
        model: `keras.Model`. Its `run_eagerly` is set to True or False.
        sentences: list of lists of str. The tokens of the sentences that the model reads next.
        is_all: bool. Whether these are all sentences of the input.

    Example:
    >>> import keras
    >>> model = keras.Sequential()
    >>> run_short_text_eagerly(model, [["Ada", "slept"], ["Yes"]], is_all=True)
    >>> model.run_eagerly
    True
    """
    longest = max(map(len, sentences), default=0)
    is_small = longest <= LONGEST and len(sentences) * longest <= MOST_TOKENS
    in_16_bits = any("float16" in layer.compute_dtype for layer in model._flatten_layers())
    eager = is_all and is_small and not in_16_bits
    if model.run_eagerly != eager:
        model.run_eagerly = eager
        model.predict_function = None  # Keras creates it again for the new setting
