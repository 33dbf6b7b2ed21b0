"""From a program's flat options to what a tagger or classifier reads: features, vectors, ELMo."""

from tfreps.models import Elmo
from tfreps.pretrained import load_bilm
from tfreps.program_options import Option
from tfreps.text import TokenFeatures, WordVectors

OPTIONS = {
    "lowercase": Option(bool, False, "look words up in lower case"),
    "digits_to_zero": Option(bool, False, "look words up with every digit as 0"),
    "min_count": Option(
        int, 1, "words that are rarer in the training data are unknown (1)", at_least=1
    ),
    "max_vocabulary": Option(int, None, "words at most, three special ones included", at_least=4),
    "max_characters": Option(
        int, 50, "characters of a word that --characters reads (50)", at_least=3
    ),
    "vectors": Option(str, None, "static word vectors: GloVe, word2vec, fastText; .gz too"),
    "elmo": Option(str, None, "run folder of a biLM whose vectors each word gains"),
    "elmo_options": Option(str, None, "or the options.json of one,"),
    "elmo_weights": Option(str, None, "and HDF5 weights, of bilm-tf or AllenNLP"),
    "elmo_state": Option(
        str, "zero", "the state that the biLM starts from (zero)", ["zero", "warm"]
    ),
    "elmo_top": Option(bool, False, "the top layer of the biLM instead of a learned mix of all"),
    "fine_tune_elmo": Option(bool, False, "train the biLM too"),
    "train_vectors": Option(str, None, "file of `tfreps embed` for --train, sentence by sentence"),
    "dev_vectors": Option(str, None, "the same for --dev"),
    "test_vectors": Option(str, None, "the same for --test"),
}
WITHOUT_WINDOW = "no_words", "vectors", "characters", "elmo", "elmo_weights", "train_vectors"


def check(options):
    """Finds options that make no sense together, before anything is read.

    Args:
        options: namespace with what `OPTIONS`, `tfreps.encoders.OPTIONS` and
            `tfreps.fitting.OPTIONS` name, and `train`, `dev` and `test`.

    Raises:
        ValueError: names the flag.
    """
    elmo = options.elmo or options.elmo_options or options.elmo_weights
    trained = not (options.no_words or options.frozen_embeddings or options.encoder == "window")
    rest = options.characters or elmo or options.train_vectors
    rules = [
        ("no_words", rest, "leaves nothing: give --characters, --elmo or --train-vectors too"),
        ("vectors", not options.no_words, "brings word vectors: leave --no-words out"),
        ("frozen_embeddings", options.vectors, "freezes word vectors of a file: give --vectors"),
        ("embedding_learning_rate", trained, "is for word vectors, and none are trained"),
        ("elmo", not (options.elmo_options or options.elmo_weights), "names one biLM already"),
        ("elmo_options", options.elmo_weights, "needs --elmo-weights too"),
        ("elmo_weights", options.elmo_options, "needs --elmo-options too"),
        ("elmo_top", elmo, "is about a biLM: give --elmo"),
        ("fine_tune_elmo", elmo, "trains a biLM: give --elmo"),
    ]
    for name in WITHOUT_WINDOW if options.encoder == "window" else ():
        rules.insert(0, (name, False, "goes unseen: --encoder window reads words alone"))
    for part in ("train", "dev", "test"):
        rules.append((f"{part}_vectors", getattr(options, part), f"needs --{part} too"))
        if getattr(options, part):
            needed = getattr(options, f"{part}_vectors")
            rules.append(("train_vectors", needed, f"needs --{part}-vectors too"))
            rules.append((f"{part}_vectors", options.train_vectors, "needs --train-vectors too"))
    for name, is_fine, reason in rules:
        if getattr(options, name) and not is_fine:
            raise ValueError(f"--{name.replace('_', '-')} {reason}.")


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
