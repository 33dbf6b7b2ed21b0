"""From a program's flat options to what a tagger or classifier reads: ids, vectors, ELMo, BERT."""

import itertools

import keras

from tfreps.cli.messages import say_bert, say_vectors
from tfreps.cli.options import Option
from tfreps.inference.load import load_as
from tfreps.inference.text_bilm import TextBiLM
from tfreps.models import BertEncoder, Elmo
from tfreps.runs.bert_loading import freeze_blocks, load_encoder, max_length
from tfreps.text import TokenIndexer, WordVectors
from tfreps.text.bert import write_tokenizer
from tfreps.text.bert.piece_indexer import PieceIndexer, check_room

WORDS = {
    "lowercase": Option(bool, False, "look words up in lower case"),
    "digits_to_zero": Option(bool, False, "look words up with every digit as 0"),
    "min_count": Option(
        int, 1, "words that are rarer in the training data are unknown (1)", at_least=1
    ),
    "max_vocabulary": Option(int, None, "words at most, three special ones included", at_least=4),
}
VECTORS = {
    "max_characters": Option(
        int, 50, "characters of a word that --characters reads (50)", at_least=3
    ),
    "vectors": Option(
        str, None, "static word vectors: GloVe, word2vec, fastText; .gz too", excludes="no_words"
    ),
    "elmo": Option(
        str, None, "run folder of a biLM whose vectors each word gains",
        excludes=("elmo_options", "elmo_weights"),
    ),
    "elmo_options": Option(str, None, "or the options.json of one,", needs="elmo_weights"),
    "elmo_weights": Option(
        str, None, "and HDF5 weights, of bilm-tf or AllenNLP", needs="elmo_options"
    ),
    "elmo_initial_state": Option(
        str, "zero", "the state that the biLM starts from (zero)", ["zero", "warm"],
        needs="elmo or elmo_weights",
    ),
    "elmo_top_only": Option(
        bool, False, "the top layer of the biLM instead of a learned mix of all",
        needs="elmo or elmo_weights",
    ),
    "elmo_fine_tune": Option(bool, False, "train the biLM too", needs="elmo or elmo_weights"),
    "train_vectors": Option(
        str, None, "file of `tfreps embed` for --train, sentence by sentence",
        needs=("dev_vectors if dev", "test_vectors if test"),
    ),
    "dev_vectors": Option(str, None, "the same for --dev", needs=("dev", "train_vectors")),
    "test_vectors": Option(str, None, "the same for --test", needs=("test", "train_vectors")),
}  # fmt: skip
OPTIONS = {**WORDS, **VECTORS}


def read_elmo(options):
    """The `Elmo` that the options name, or None.

    Raises:
        ValueError: what `tfreps.load` raises, or it is no biLM; a biLM that reads token ids, whose
            vocabulary is not the tagger's.
    """
    if not (options.elmo or options.elmo_options or options.elmo_weights):
        return None
    how = {"weights_file": options.elmo_weights}
    if options.elmo_initial_state != "zero":  # which `load` takes, too
        how["initial_state"] = options.elmo_initial_state
    bilm = load_as(TextBiLM, options.elmo or options.elmo_options, **how).bilm
    if bilm.vocabulary_size is not None:
        raise ValueError(
            f"{options.elmo or options.elmo_weights} reads token ids of a vocabulary of its own; "
            "expected a biLM that reads characters."
        )
    bilm.trainable = options.elmo_fine_tune  # it is nobody else's: an `Elmo` need not copy it
    return Elmo(
        bilm,
        dropout=0.0,
        fine_tune=options.elmo_fine_tune,
        top_only=options.elmo_top_only,
        name="elmo",
    )


def read_bert(options, pooler=False):
    """The `EncoderAndTokenizer` that `--bert` names, as far as it is to be built; None without it.

    Args:
        options: namespace with what `tfreps.cli.encoder_kinds.BERT` names.
        pooler: bool. Whether its pooled output is read.

    Raises:
        ValueError: what `tfreps.runs.bert_loading.load_encoder` and `freeze_blocks` raise.
    """
    if options.bert is None:
        return None
    changes = {"num_layers": options.num_layers, "dropout": options.bert_dropout}
    changes["attention_dropout"] = options.bert_dropout
    changes = {name: value for name, value in changes.items() if value is not None}
    policy = keras.config.dtype_policy().name
    bert = load_encoder(options.bert, pooler=pooler, dtype=policy, **changes)
    if options.bert_from_scratch:
        bert = bert._replace(encoder=BertEncoder.from_config(bert.encoder.get_config()))
    freeze_blocks(bert.encoder, options.freeze_blocks or 0)
    say_bert(options.bert, bert)
    return bert


def check_sentences(data, bert):
    """Refuses tagged sentences that are too long for a BERT.

    Args:
        data: part of the data -> list of `tfreps.data.TaggedSentence`.
        bert: what `read_bert` returned.

    Raises:
        ValueError: with file and line.
    """
    if bert is not None:
        sentences = list(itertools.chain(*data.values()))
        places = [f"{s.file}, line {s.line}" for s in sentences]
        tokens = [s.tokens for s in sentences]
        check_room(tokens, bert.tokenizer, max_length(*bert), places)


def make_indexer(options, sentences, elmo=None, bert=None, words=True):
    """`TokenIndexer` with the vocabulary of some sentences, and characters if anything reads them.

    For a BERT `PieceIndexer`, whose vocabulary it brings along.

    Args:
        options: namespace with what `OPTIONS` names, and `characters`.
        sentences: lists of tokens: those of the training data alone.
        elmo: `Elmo`, or None.
        bert: what `read_bert` returned.
        words: bool. Whether sentences are of words; else of a BERT's pieces.
    """
    if bert is not None:
        return PieceIndexer(bert.tokenizer, words)
    return TokenIndexer.from_sentences(
        sentences,
        options.min_count,
        options.max_vocabulary,
        lowercase=options.lowercase,
        digits_to_zero=options.digits_to_zero,
        max_characters=_num_characters(options, elmo),
    )


def keep(run, indexer):
    """Writes the vocabulary of the indexer to the run's folder, or their tokeniser, if any.

    Raises:
        ValueError: a resumed run would get another.
    """
    tokenizer = getattr(indexer, "tokenizer", None)
    if tokenizer is None:
        run.keep(run.vocabulary_path, indexer.vocabulary.write)
    else:
        run.keep(run.tokenizer_path, lambda path: write_tokenizer(tokenizer, path))


def read_vectors(options, indexer):
    """`WordVectors` of the vocabulary; None without `--vectors`. Words without one are small noise.

    Returns:
        WordVectors, or None.
    """
    if options.vectors is None:
        return None
    vectors = WordVectors.read(
        options.vectors,
        indexer.vocabulary.tokens,
        lowercase_fallback=True,
        missing_std=0.1,
        seed=options.seed,
    )
    say_vectors(options.vectors, vectors)
    return vectors


def _num_characters(options, elmo):
    if elmo is not None:
        return elmo.bilm.max_characters
    return options.max_characters if options.characters else None
