"""From a program's flat options to what a tagger or classifier reads: features, vectors, ELMo."""

from tfreps.models import Elmo
from tfreps.pretrained import load_bilm
from tfreps.program_options import Option
from tfreps.text import TokenFeatures, WordVectors

OPTIONS = {
    "lowercase": Option(bool, False, "look words up in lower case"),
    "digits_to_zero": Option(bool, False, "look words up with every digit as 0"),
    "min_count": Option(int, 1, "words that are rarer in the training data are unknown (1)"),
    "max_vocabulary": Option(int, None, "words at most"),
    "max_characters": Option(int, 50, "of a word, for --characters (50)"),
    "vectors": Option(str, None, "static word vectors: GloVe, word2vec, fastText; .gz too"),
    "elmo": Option(str, None, "run folder of a biLM whose vectors each word gains"),
    "elmo_options": Option(str, None, "or its options.json,"),
    "elmo_weights": Option(str, None, "and HDF5 weights, of bilm-tf or AllenNLP"),
    "elmo_state": Option(str, "zero", "what it starts sentences from (zero)", ["zero", "warm"]),
    "elmo_top": Option(bool, False, "its top layer instead of a learned mix of all"),
    "fine_tune_elmo": Option(bool, False, "train the biLM too"),
}


def read_elmo(options):
    """The `Elmo` that the options name, or None.

    Raises:
        ValueError: what `tfreps.pretrained.load_bilm` raises; a biLM that reads token ids, whose
            vocabulary is not the tagger's.
    """
    if not (options.elmo or options.elmo_options or options.elmo_weights):
        return None
    bilm = load_bilm(
        options.elmo, options.elmo_options, options.elmo_weights, options.elmo_state
    ).bilm
    if bilm.vocabulary_size is not None:
        raise ValueError(
            f"{options.elmo or options.elmo_weights} reads token ids of a vocabulary of its own; "
            "expected a biLM that reads characters."
        )
    return Elmo(
        bilm, dropout=0.0, fine_tune=options.fine_tune_elmo, top_only=options.elmo_top, name="elmo"
    )


def make_features(options, sentences, elmo=None):
    """`TokenFeatures` with the vocabulary of some sentences, and characters if anything reads them.

    Args:
        options: namespace with what `OPTIONS` and `tfreps.encoders.OPTIONS` name.
        sentences: lists of tokens: those of the training data alone.
        elmo: `Elmo`, or None.
    """
    return TokenFeatures.from_sentences(
        sentences,
        options.min_count,
        options.max_vocabulary,
        lowercase=options.lowercase,
        digits_to_zero=options.digits_to_zero,
        max_characters=_num_characters(options, elmo),
    )


def reread_features(options, vocabulary, elmo=None):
    """What `make_features` made, from the vocabulary that was kept."""
    return TokenFeatures(
        vocabulary,
        lowercase=options.lowercase,
        digits_to_zero=options.digits_to_zero,
        max_characters=_num_characters(options, elmo),
    )


def read_vectors(options, features):
    """`WordVectors` of the vocabulary; None without `--vectors`. Words without one are small noise.

    Returns:
        WordVectors, or None.
    """
    if options.vectors is None:
        return None
    vectors = WordVectors.read(
        options.vectors,
        features.vocabulary.tokens,
        lowercase_fallback=True,
        missing_std=0.1,
        seed=options.seed,
    )
    print(
        f"Word vectors: {vectors.num_found:,} of {len(features.vocabulary):,} words have one in "
        f"{options.vectors}."
    )
    return vectors


def _num_characters(options, elmo):
    if elmo is not None:
        return elmo.bilm.max_characters
    return options.max_characters if options.characters else None
