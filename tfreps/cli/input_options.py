"""From a program's flat options to what a tagger or classifier reads: features, vectors, ELMo."""

import itertools

import keras

from tfreps.cli.options import Option
from tfreps.models import BertEncoder, Elmo
from tfreps.runs.bert_loading import freeze_blocks, least, load_encoder, max_length
from tfreps.runs.bilm_runs import load_bilm
from tfreps.text import TokenIndexer, WordVectors
from tfreps.text.bert import write_tokenizer
from tfreps.text.bert.piece_indexer import PieceIndexer, check_room, piece_texts
from tfreps.text.tokenizers import tokenize_texts

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
WITHOUT_LINEAR = "no_words", "vectors", "characters", "elmo", "elmo_weights", "train_vectors"
WITHOUT_LINEAR += ("max_characters",)
WITHOUT_BERT = *WITHOUT_LINEAR, "frozen_embeddings", "lowercase", "digits_to_zero", "max_vocabulary"
WITHOUT_BERT += ("min_count",)
OF_BERT = "bert", "bert_dropout", "freeze_blocks", "bert_learning_rate", "layer_decay"
OF_BERT += ("bert_from_scratch",)


def check(options):
    """Finds options that make no sense together, before anything is read.

    Args:
        options: namespace with what `OPTIONS`, `tfreps.cli.encoder_options.OPTIONS` and
            `tfreps.cli.fit_options.OPTIONS` name, and `train`, `dev` and `test`.

    Raises:
        ValueError: names the flag.
    """
    elmo = options.elmo or options.elmo_options or options.elmo_weights
    has_words = options.encoder not in ("linear", "bert") and not options.no_words
    trained = has_words and not options.frozen_embeddings
    linear = options.linear_features or getattr(options, "ngrams", None)
    rest = options.characters or elmo or options.train_vectors
    rules = [
        ("no_words", rest, "leaves nothing: give --characters, --elmo or --train-vectors too"),
        ("vectors", not options.no_words, "brings word vectors: leave --no-words out"),
        ("frozen_embeddings", options.vectors, "freezes word vectors of a file: give --vectors"),
        ("embedding_learning_rate", trained, "is for word vectors, and none are trained"),
        ("linear_learning_rate", linear, "is for a linear model beside the encoder, and none is"),
        (
            "linear_dropout",
            linear or options.encoder == "linear",
            "is for a linear model, and there is none",
        ),
        ("elmo", not (options.elmo_options or options.elmo_weights), "names one biLM already"),
        ("elmo_options", options.elmo_weights, "needs --elmo-weights too"),
        ("elmo_weights", options.elmo_options, "needs --elmo-options too"),
        ("elmo_top", elmo, "is about a biLM: give --elmo"),
        ("fine_tune_elmo", elmo, "trains a biLM: give --elmo"),
        ("freeze_blocks", not options.bert_from_scratch, "would keep weights that are random"),
    ]
    for name in WITHOUT_LINEAR if options.encoder == "linear" else ():
        rules.insert(0, (name, False, "goes unseen: --encoder linear reads words alone"))
    for name in WITHOUT_BERT if options.encoder == "bert" else ():
        rules.insert(0, (name, False, "goes unseen: --encoder bert brings words and tokens along"))
    if options.encoder == "bert" and not options.bert:
        raise ValueError("--bert is missing: the run folder or checkpoint of the --encoder bert.")
    for name in OF_BERT:
        rules.append((name, options.encoder == "bert", "is about a BERT: give --encoder bert"))
    for part in ("train", "dev", "test"):
        rules.append((f"{part}_vectors", getattr(options, part), f"needs --{part} too"))
        if getattr(options, part):
            needed = getattr(options, f"{part}_vectors")
            rules.append(("train_vectors", needed, f"needs --{part}-vectors too"))
            rules.append((f"{part}_vectors", options.train_vectors, "needs --train-vectors too"))
    for name, is_fine, reason in rules:
        given = getattr(options, name)
        if name in OPTIONS and given == OPTIONS[name].default:
            continue
        if given and not is_fine:
            raise ValueError(f"--{name.replace('_', '-')} {reason}.")


def read_elmo(options):
    """The `Elmo` that the options name, or None.

    Raises:
        ValueError: what `load_bilm` raises; a biLM that reads token ids, whose
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
    bilm.trainable = options.fine_tune_elmo  # it is nobody else's: an `Elmo` need not copy it
    return Elmo(
        bilm, dropout=0.0, fine_tune=options.fine_tune_elmo, top_only=options.elmo_top, name="elmo"
    )


def read_bert(options, pooler=False):
    """The `EncoderAndTokenizer` that `--bert` names, as far as it is to be built; None without it.

    Args:
        options: namespace with what `tfreps.cli.encoder_options.OPTIONS` names.
        pooler: bool. Whether its pooled output is read.

    Raises:
        ValueError: what `tfreps.runs.bert_loading.load_encoder` and `freeze_blocks` raise.
    """
    if options.encoder != "bert":
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


def say_bert(source, bert):
    """Tells what was read, and rows of its table that no token has, as where it is rounded up."""
    encoder, size = bert.encoder, len(bert.tokenizer.vocabulary)
    spare = encoder.vocabulary_size - size
    rows = f" (its table has {spare:,} rows that no token of the vocabulary reads)" if spare else ""
    print(
        f"BERT: {encoder.num_layers} blocks of {encoder.hidden_dim} dimensions from {source}, "
        f"{size:,} tokens{rows}."
    )


def cut_texts(options, texts, bert=None):
    """The tokens of labelled texts; what is too long is refused, or of a BERT's texts cut.

    Args:
        options: namespace with `tokens`, `max_length` and `too_long` of `train-classifier`.
        texts: list of `tfreps.data.LabelledText`.
        bert: what `read_bert` returned.

    Returns:
        the lists of tokens, of a BERT the pieces between start and separator; and how many were
        cut here.

    Raises:
        ValueError: a text is too long, with file and line.
    """
    strings, longest = [text.text for text in texts], options.max_length
    if bert is None:
        tokens = tokenize_texts(strings, options.tokens)
    else:
        most = max_length(*bert)
        if most is not None and longest is not None and longest > most:
            raise ValueError(f"--max-length must be at most {most}, as of --bert; got {longest}.")
        longest = least(longest, most)
        bert.tokenizer.room(longest)  # checks it
        tokens, _ = piece_texts(strings, bert.tokenizer)
    num_cut = 0
    for text, own in zip(texts, tokens, strict=True):
        if longest is None or len(own) <= longest:
            continue
        if options.too_long == "refuse":
            raise ValueError(
                f"{text.file}, line {text.line}: the text has {len(own):,} tokens, and there may "
                f"be {longest:,}. Shorten it, or use --too-long cut."
            )
        if bert is not None:
            del own[longest - 1 : -1]  # the separator stays
            num_cut += 1
    return tokens, num_cut


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
        options: namespace with what `OPTIONS` and `tfreps.cli.encoder_options.OPTIONS` name.
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
    print(
        f"Word vectors: {vectors.num_found:,} of {len(indexer.vocabulary):,} words have one in "
        f"{options.vectors}."
    )
    return vectors


def _num_characters(options, elmo):
    if elmo is not None:
        return elmo.bilm.max_characters
    return options.max_characters if options.characters else None
