"""What a token is to a CharacterTokenizer, as patterns for Python and for a TensorFlow graph."""

NUMBER = "#NUM#"
NUMBER_PATTERN = r"[0-9]+(?:\.[0-9]+)?"
WORD_PATTERN = "[A-Za-z]+"


def token_pattern(tokenizer, other: str, word: str = WORD_PATTERN) -> str:
    """Returns the pattern of a token, for Python and RE2; `other` is any other character."""
    patterns = [NUMBER_PATTERN] if tokenizer.numbers else []
    patterns += [word] if tokenizer.whole_words else []
    return "|".join([*patterns, other])
