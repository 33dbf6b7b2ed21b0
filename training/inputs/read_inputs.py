"""Reads the inputs of taggers and classifiers: vocabulary, word vectors, ELMo."""

from typing import Any, NamedTuple

import keras

from tfreps._src.inference.model_loading import load_as
from tfreps._src.inference.text_bilm import TextBiLM
from tfreps._src.inference.text_tagger import TextTagger
from tfreps._src.models.copy_weights import changed_copy
from tfreps._src.models.elmo import Elmo
from tfreps._src.models.rnn_encoder import RNNEncoder
from tfreps._src.models.token_embedder import TokenEmbedder
from tfreps._src.runs.opening import NORMALIZATION
from tfreps._src.text.bert.piece_indexer import PieceIndexer
from tfreps._src.text.bert.tokenizer_files import write_tokenizer
from tfreps._src.text.token_indexer import TokenIndexer
from tfreps.training.inputs.word_tables import read_word_table


class EncoderInputs(NamedTuple):
    """Vocabulary, vectors and models from which an encoder is built.

    Attributes:
        indexer: `TokenIndexer` or `PieceIndexer`, which converts tokens to ids.
        num_classes: int. Number of tags or labels.
        vectors: Word vectors for the vocabulary of the indexer, or `None`.
        num_frozen_words: int. Number of words at the end of the vocabulary that occur only in the
            file of word vectors.
        elmo: `Elmo` whose vectors the encoder reads, or `None` if it reads none.
        bert: `EncoderAndTokenizer` with a BERT encoder and its tokenizer, or `None` for another
            kind of encoder.
        stored: tuple of int. Number of layers and width of the vectors that `tfreps embed` stored
            in a file, or `(0, 0)` without such a file.
        encoder: Trained encoder of --init, or `None`.
    """

    indexer: Any
    num_classes: int = 1
    vectors: Any = None
    num_frozen_words: int = 0
    elmo: Any = None
    bert: Any = None
    stored: tuple[int, int] = (0, 0)
    encoder: Any = None


def read_inputs(options, sentences, num_classes, say, bert=None, words=True):
    """Returns the `EncoderInputs` that the options describe, without setting `stored`.

    `sentences` are the tokens of the training data: words, or pieces of the BERT model if `words`
    is `False`. `say` is a function that prints a line.
    """
    elmo, word_characters = read_elmo(options)
    indexer = make_indexer(options, sentences, elmo, word_characters, bert, words)
    vectors, num_frozen_words = None, 0
    if options.vectors is not None:
        indexer, vectors, num_frozen_words = read_word_table(options, indexer, say)
    return EncoderInputs(indexer, num_classes, vectors, num_frozen_words, elmo, bert)


def read_initial(options, num_classes):
    """Returns the `EncoderInputs` of the tagger --init, with its encoder and its vocabulary.

    Sets the options that say how the tagger of --init reads text.
    """
    loaded = load_as(TextTagger, options.init)
    encoder = loaded.model.parts().get("encoder")
    if encoder is None or loaded.tokenizer is not None:
        what = "an HMM" if encoder is None else "a tagger with a BERT, which --bert can use"
        raise ValueError(f"--init must be a tagger with another encoder; {options.init} is {what}.")
    if options.tokens not in ("spaces", loaded.tokens):
        raise ValueError(
            f"--tokens must be {loaded.tokens}, with which --init {options.init} was trained; got "
            f"{options.tokens}. Omit --tokens."
        )
    options.tokens = loaded.tokens
    for name in NORMALIZATION:
        setattr(options, name, getattr(loaded.indexer, name))
    changes = {"dtype": keras.config.dtype_policy().name}
    if isinstance(encoder, TokenEmbedder | RNNEncoder):
        changes["dropout"] = options.dropout
    if isinstance(getattr(encoder, "embedder", None), TokenEmbedder):
        own = {**changes, "dropout": options.dropout}
        changes["embedder"] = changed_copy(encoder.embedder, **own)
    return EncoderInputs(
        loaded.indexer, num_classes, encoder=changed_copy(encoder, **changes, trainable=True)
    )


def read_elmo(options):
    """Returns the `Elmo` and the `WordCharIndexer` of the biLM that the options name.

    Both are `None` if the options name no biLM. The `WordCharIndexer` is `None` if the biLM is not
    one of ELMoForManyLangs.
    """
    if not (options.elmo or options.elmo_config or options.elmo_weights):
        return None, None
    how = {"weights_file": options.elmo_weights}
    if options.elmo_initial_state != "zero":  # `load` uses zero by default
        how["initial_state"] = options.elmo_initial_state
    loaded = load_as(TextBiLM, options.elmo or options.elmo_config, **how)
    bilm = loaded.bilm
    if bilm._ids_name == "token_ids":
        name = "elmo" if options.elmo else "elmo_weights"
        raise ValueError(
            f"`{name}` must be a biLM that reads character ids; "
            f"{options.elmo or options.elmo_weights} reads token ids of its own vocabulary."
        )
    # No other layer uses this biLM, so `Elmo` need not copy it.
    bilm.trainable = options.elmo_fine_tune
    elmo = Elmo(
        bilm,
        dropout=0.0,
        fine_tune=options.elmo_fine_tune,
        top_only=options.elmo_top_only,
        name="elmo",
    )
    return elmo, loaded.word_characters


def make_indexer(options, sentences, elmo=None, word_characters=None, bert=None, words=True):
    """Returns a `PieceIndexer` if `bert` is given, or a `TokenIndexer` of the training data."""
    if bert is not None:
        return PieceIndexer(bert.tokenizer, words)
    has_characters = options.characters not in (None, "none")
    num_characters = options.max_characters if has_characters else None
    if elmo is not None and word_characters is None:
        num_characters = elmo.bilm.max_characters
    return TokenIndexer.from_sentences(
        sentences,
        options.min_count,
        options.max_vocabulary,
        lowercase=options.lowercase,
        digits_to_zero=options.digits_to_zero,
        lowercase_fallback=options.lowercase_fallback,
        max_characters=num_characters,
        word_characters=word_characters,
    )


def keep(run, indexer):
    """Writes to the run folder the files that an indexer needs.

    If the indexer has a tokenizer, the files of the tokenizer are written. Otherwise, the
    vocabulary is written and, for a biLM of ELMoForManyLangs, the words and characters of the biLM.
    """
    tokenizer = getattr(indexer, "tokenizer", None)
    if tokenizer is not None:
        run.write_asset(run.tokenizer_path, lambda path: write_tokenizer(tokenizer, path))
        return
    run.write_asset(run.vocabulary_path, indexer.vocabulary.write)
    if indexer.word_characters is not None:
        run.write_asset(run.word_characters_path, indexer.word_characters.write)
