"""Options of the encoders of taggers and classifiers, and of the vectors that these read."""

from typing import NamedTuple

from tfreps._src.cli import bilm_options
from tfreps._src.cli.command import Group
from tfreps._src.cli.option_rules import brought_by
from tfreps._src.cli.options import Option, with_levels
from tfreps.training.options.training_options import LABELING, OPTIMIZER, RUN_GROUP

MAY_CHANGE = "test", "test_vectors"  # options that may differ when a run is resumed
TAGGER, CLASSIFIER = HEADS = "tagger", "classifier"
# Options of train-tagger and train-classifier that --help shows; --help-all also shows the others.
COMMON = (
    *("train", "validation", "test", "format", "text_field", "label_field", "scheme", "tokens"),
    *("max_length", "encoder", "init", "bert", "units", "dropout", "vectors", "elmo", "lowercase"),
    *("min_count", "pooling", "monitor", "epochs", "patience", "batch_size", "learning_rate"),
    *("run", "resume", "overwrite"),
)
# Options that only experiments change: keys of --config and --set without a flag.
KEYS = (
    *("digits_to_zero", "max_characters", "bigram_dim", "word_dropout", "lowercase_fallback"),
    "trainable_embeddings",
    *("elmo_top_only", "num_steps", "window", "num_sentence_nodes", "boundary", "hidden_dim"),
    *("num_heads", "num_filters", "widths", "bert_dropout", "bert_from_scratch", "hidden_units"),
    *("linear_dropout", "truncation_rate", "transition_learning_rate_factor", "decay"),
    *("plateau_decay", "clip_norm", "weight_decay", "l2", "embedding_learning_rate"),
    *("linear_learning_rate", "layer_decay", "ema_momentum"),
    *("lora_alpha", "lora_dropout", "target_modules"),
)
DEFAULTS = {TAGGER: "bilstm", CLASSIFIER: "cnn"}


class EncoderKind(NamedTuple):
    """Row of the table `ENCODERS`, which describes an encoder.

    To add an encoder, add a row to this table and a function to `encoders.BUILDERS`. `options` is a
    table of the options that this encoder reads, without the options that all encoders read.
    Encoders that share an option use the same `Option`.
    """

    options: dict[str, Option]
    help: str
    heads: tuple[str, ...] = HEADS  # kinds of model that can use the encoder
    pooling: str = "mean"  # default value of --pooling
    gives_scores: bool = False  # whether the encoder outputs a score for each tag or label
    brings_tokens: bool = False  # whether the encoder has its own tokenizer and vocabulary
    width: str | None = None  # name of the option for the width of its matrix multiplications


WORDS = {
    "lowercase": Option(
        bool, False, "Convert words to lower case before they are looked up in the vocabulary."
    ),
    "digits_to_zero": Option(
        bool, False, "Replace every digit with 0 before words are looked up in the vocabulary."
    ),
    "min_count": Option(
        int, 1, "Treat words that occur fewer than N times in the training data as unknown.",
        at_least=1,
    ),
    "max_vocabulary": Option(
        int, None, "Maximum size of the vocabulary, including the special tokens <S>, </S> and "
        "<UNK>. The words of the training data come first, by frequency, and then the words of the "
        "--vectors file in their order. By default, all words are added, but the words of the "
        "--vectors file only up to 1,000,000 words or 4 GB of vectors.", at_least=4,
    ),
    "lowercase_fallback": Option(
        bool, True, "Look up a word in lower case if the vocabulary does not contain it as "
        "written. In the same way, a training word that is missing from the --vectors file gets "
        "the vector of its lower-case form.",
    ),
}  # fmt: skip
ELMO = {
    "elmo": Option(
        str, None, "Bidirectional language model (biLM) whose vectors are concatenated with the "
        "word vectors: a run folder or a published biLM, given by path, name (see 'tfreps "
        "presets') or hf:// address.", excludes=("elmo_config", "elmo_weights"), metavar="MODEL",
    ),
    "elmo_config": bilm_options.OPTIONS["elmo_config"]._replace(
        about="options.json file of a biLM from bilm-tf or AllenNLP, used together with "
        "--elmo-weights instead of --elmo.", needs="elmo_weights",
    ),
    "elmo_weights": bilm_options.OPTIONS["elmo_weights"]._replace(needs="elmo_config"),
    "elmo_initial_state": bilm_options.OPTIONS["elmo_initial_state"]._replace(
        default="zero",
        about="LSTM state of the biLM at the start of each sentence: zeros (zero), or the state "
        "after a fixed sentence (warm).",
        needs="elmo or elmo_weights",
    ),
    "elmo_top_only": Option(
        bool, False, "Use the top layer of the biLM instead of a learned mix of all layers.",
        needs="elmo or elmo_weights",
    ),
    "elmo_fine_tune": Option(
        bool, False, "Train the weights of the biLM together with those of the model. By default, "
        "the biLM does not change.", needs="elmo or elmo_weights",
    ),
}  # fmt: skip
# The help shows these options in the group "words", and those of `OF_EMBEDDER` in "encoder".
VECTORS = {
    "max_characters": Option(
        int, 50, "Number of character ids per word that the network of --characters reads. Longer "
        "words are truncated.", at_least=3, needs="characters=cnn|bilstm or elmo or elmo_weights",
        unused_with=("elmo", "elmo_weights"),
    ),
    "vectors": Option(
        str, None, "File of static word vectors (GloVe, word2vec or fastText), or its URL. The "
        "file may be gzipped or in a zip archive. A NumPy array NAME.npy can be given instead; its "
        "words are then read from NAME.txt or NAME.parquet. All words of the file are added to the "
        "vocabulary.",
        excludes="no_words", metavar="FILE",
    ),
    **ELMO,
    "train_vectors": Option(
        str, None, "File of vectors for the sentences of --train, written by 'tfreps embed'. The "
        "encoder reads these vectors in addition to the word vectors.",
        needs=("validation_vectors if validation", "test_vectors if test"), metavar="FILE",
    ),
    "validation_vectors": Option(
        str, None, "File of vectors for the sentences of --validation, written by 'tfreps embed'.",
        needs=("validation", "train_vectors"), metavar="FILE",
    ),
    "test_vectors": Option(
        str, None, "File of vectors for the sentences of --test, written by 'tfreps embed'.",
        needs=("test", "train_vectors"), metavar="FILE",
    ),
}  # fmt: skip
OF_EMBEDDER = {
    "embedding_dim": Option(
        int, 100, "Width of the word vectors. Has no effect with --vectors or --no-words.",
        at_least=1, unused_with=("vectors", "no_words"),
    ),
    "bigram_dim": Option(
        int, 0, "Width of the vectors of pairs of neighboring tokens, which are concatenated with "
        "the word vectors. With 0, there are none.", at_least=0, unused_with="no_words",
    ),
    "word_dropout": Option(
        float, 0.0, "Rate at which whole word vectors are dropped in training.", at_least=0,
        below=1, unused_with="no_words",
    ),
    "no_words": Option(
        bool, False, "Do not use word vectors. Requires character features, vectors from a biLM, "
        "or vectors from a file written by 'tfreps embed'.",
        needs="characters=cnn|bilstm or elmo or elmo_weights or train_vectors",
    ),
    "trainable_embeddings": Option(
        bool, True, "Train the vectors from --vectors that belong to words of the training data. "
        "The vectors of other words in the file never change.", needs="vectors",
    ),
    "characters": Option(
        str, None, "Network that computes a vector from the characters of each word: a CNN (cnn), "
        "a bidirectional LSTM (bilstm), or no network (none). This vector is concatenated with the "
        "word vector. Defaults to none in train-classifier. In train-tagger, defaults to cnn, or "
        "to none with --tokens characters or all_characters, or with vectors of a biLM.",
        ["cnn", "bilstm", "none"],
    ),
}  # fmt: skip
UNITS = {
    "units": Option(
        int,
        200,
        "Width of the states of slstm, or of each direction of bilstm and bigru.",
        at_least=1,
    )
}
NUM_LAYERS = {
    "num_layers": Option(
        int, None, "Number of encoder layers; bert uses only its first N layers. Defaults to 1 for "
        "bilstm, bigru and transformer, and to all layers for bert.", at_least=1,
    )
}  # fmt: skip
TRANSFORMER = {
    "hidden_dim": Option(
        int, 200, "Width of the hidden vectors of the transformer; must be a multiple of "
        "num_heads.", at_least=1,
    ),
    "num_heads": Option(
        int, 4, "Number of attention heads of the transformer; must divide hidden_dim.",
        at_least=1,
    ),
}  # fmt: skip
SLSTM = {
    "num_steps": Option(int, 9, "Number of times that slstm updates its states.", at_least=1),
    "window": Option(
        int, 1, "Number of neighboring words on each side whose states slstm uses to update the "
        "state of a word.", at_least=1,
    ),
    "num_sentence_nodes": Option(
        int, 1, "Number of states with which slstm represents the whole text.", at_least=0
    ),
    "boundary": Option(
        str, "learned", "States that slstm reads beyond the two ends of a text: those of boundary "
        "tokens with learned inputs (learned), learned states that no step updates (fixed), or "
        "zeros (zeros).", ["learned", "fixed", "zeros"],
    ),
}  # fmt: skip
CNN = {
    "num_filters": Option(
        int,
        100,
        "Number of convolution filters per filter width. Applies to --encoder cnn.",
        at_least=1,
    ),
    "widths": Option(
        int,
        [3, 4, 5],
        "Widths of the convolution filters of --encoder cnn, in tokens.",
        many=True,
        at_least=1,
    ),
}
BERT = {
    "bert": Option(
        str, None, "Pre-trained BERT model: a run folder of 'tfreps pretrain-bert' or a published "
        "model, given by path, name (see 'tfreps presets') or hf:// address.",
        required="encoder=bert", metavar="MODEL",
    ),
    "bert_dropout": Option(
        float, None, "Dropout rate of the hidden vectors and the attention weights of bert. "
        "Defaults to the rates that were used in pre-training.", at_least=0, below=1,
    ),
    "bert_from_scratch": Option(
        bool, False, "Start from random weights, and use only the sizes and the tokenizer of the "
        "--bert model.",
    ),
    "freeze_layers": Option(
        int, None, "Number of layers of bert, counted from the input, that are not trained; the "
        "embeddings below them are not trained either. Defaults to 0, which trains all weights.",
        at_least=0, excludes="bert_from_scratch",
    ),
    "lora_rank": Option(
        int, None, "Train low-rank adapters (LoRA) of this rank, such as 8, instead of the weights "
        "of bert, which needs less memory. The saved model contains ordinary weights. By default, "
        "all weights are trained.", at_least=1, excludes=("bert_from_scratch", "freeze_layers"),
    ),
    "lora_alpha": Option(
        float, None, "The product of the two matrices of an adapter is multiplied by this number, "
        "divided by lora_rank. Defaults to lora_rank.", above=0, needs="lora_rank",
    ),
    "lora_dropout": Option(
        float, 0.0, "Dropout rate of the inputs of the adapters.", at_least=0, below=1,
        needs="lora_rank",
    ),
    "target_modules": Option(
        str, None, "Modules of bert that have an adapter, by their names in PEFT, such as query "
        "and value. By default, all kernels of the layers have one.", many=True, metavar="NAME",
        needs="lora_rank",
    ),
}  # fmt: skip
# Options of all encoders. N-grams describe a whole text, so taggers cannot use them.
OF_ALL = {
    "dropout": Option(
        float, None, "Dropout rate of the token vectors, of the encoder's output, and between the "
        "layers of bilstm and bigru. Defaults to 0.1 for a pre-trained bert, and otherwise to 0.5.",
        at_least=0, below=1,
    ),
    "linear_features": Option(
        bool, False, "Add the scores of a linear model to the scores of the network. The linear "
        "model reads tokens and token pairs, as --encoder linear does.", excludes="encoder=linear",
    ),
    "ngrams": Option(
        int, None, "Add the scores of a linear model to the scores of the network. The linear "
        "model reads n-grams of 1 to N tokens; N is at most 3, and 0 adds no scores. Defaults to 2 "
        "for cnn if neither --linear-features nor --no-words is given, and otherwise to 0.",
        at_least=0, below=4, excludes=("encoder=linear", "linear_features"),
    ),
    "linear_dropout": Option(
        float, 0.0, "Dropout rate of the features that the linear model reads.", at_least=0,
        below=1, needs="encoder=linear or linear_features or ngrams",
    ),
}  # fmt: skip
EMBEDDER = {
    **WORDS,
    **OF_EMBEDDER,
    **VECTORS,
    "embedding_learning_rate": OPTIMIZER["embedding_learning_rate"],
}
# Option --init, and the options that can be combined with it. Those in `FROM_INIT` are set to the
# values of its model, so that they are stored with the new model.
INIT = {
    "init": Option(
        str, None, "Trained tagger whose encoder and vocabulary the new tagger starts from; the "
        "tags may differ. A run folder of 'tfreps train-tagger' with another encoder than bert, or "
        "lac. For a BERT, use --bert instead.", metavar="MODEL",
    ),
}  # fmt: skip
FROM_INIT = "lowercase", "digits_to_zero", "lowercase_fallback"
WITH_INIT = "dropout", "linear_features", "linear_dropout", *FROM_INIT
# The output of cnn at a token depends only on that token and those after it, so taggers cannot
# use it.
ENCODERS = {
    "embeddings": EncoderKind(EMBEDDER, "only the token vectors"),
    "bilstm": EncoderKind(
        {**EMBEDDER, **UNITS, **NUM_LAYERS}, "bidirectional LSTM", width="units"
    ),
    "bigru": EncoderKind({**EMBEDDER, **UNITS, **NUM_LAYERS}, "bidirectional GRU", width="units"),
    "slstm": EncoderKind(
        {**EMBEDDER, **UNITS, **SLSTM}, "Sentence-State LSTM", pooling="pooled_output",
        width="units",
    ),
    "transformer": EncoderKind(
        {**EMBEDDER, **NUM_LAYERS, **TRANSFORMER}, "Transformer layers", width="hidden_dim"
    ),
    "cnn": EncoderKind(
        {**EMBEDDER, **CNN}, "convolutions of several widths", (CLASSIFIER,),
        pooling="pooled_output", width="num_filters",
    ),
    "linear": EncoderKind(
        WORDS, "scores of tokens and token pairs without vectors", gives_scores=True
    ),
    "bert": EncoderKind(
        {**BERT, **NUM_LAYERS}, "pre-trained BERT model with its own tokenizer", brings_tokens=True
    ),
}  # fmt: skip


def set_defaults(options, head: str) -> None:
    """Sets the options whose defaults depend on other options, unless the user has given them.

    `head` is `TAGGER` or `CLASSIFIER`.
    """
    kind = ENCODERS[options.encoder]
    defaults = {"epochs": 30, "dropout": 0.5, "learning_rate": 1e-3, "schedule": "constant"}
    defaults["patience"] = 15 if head == TAGGER and options.init else 5
    if options.encoder == "bert" and not options.bert_from_scratch:
        defaults |= {"epochs": 5 if head == TAGGER else 3, "dropout": 0.1}
        if options.learning_rate is None and not options.lora_rank:
            defaults["bert_learning_rate"] = 5e-5
        if options.schedule is None and options.decay == 1.0:
            defaults["schedule"] = "linear"
    if head == CLASSIFIER:
        defaults["pooling"] = kind.pooling
        has_ngrams = options.encoder == "cnn" and not options.linear_features
        defaults["ngrams"] = 2 if has_ngrams and not options.no_words else None
    elif "characters" in kind.options and not options.init:
        has_bilm = options.elmo or options.elmo_weights or options.train_vectors
        one_by_one = options.tokens in ("characters", "all_characters")
        defaults["characters"] = "none" if has_bilm or one_by_one else "cnn"
    for name, value in defaults.items():
        if getattr(options, name) is None:
            setattr(options, name, value)


def learns_word_vectors(options, *encoders: str) -> bool:
    """Returns True if the encoder is one of `encoders` and learns all its word vectors itself."""
    others = options.vectors, options.elmo, options.elmo_weights, options.train_vectors
    return options.encoder in encoders and not any([*others, options.no_words])


def encoder_table(head: str) -> dict[str, Option]:
    """Returns a table of the options of all encoders that a tagger or classifier can use.

    `head` is `TAGGER` or `CLASSIFIER`. The first option of the table is `encoder`. Options of
    words, vectors and the optimizer are left out, because they belong to other groups of the help.
    """
    kinds = {name: kind for name, kind in ENCODERS.items() if head in kind.heads}
    about = "; ".join(f"{name}: {kind.help}" for name, kind in kinds.items())
    rows = {name: row for kind in kinds.values() for name, row in kind.options.items()}
    elsewhere = {*WORDS, *VECTORS, *OPTIMIZER}
    return {
        "encoder": Option(str, DEFAULTS[head], f"Encoder of the text. {about}.", list(kinds)),
        **{name: row for name, row in rows.items() if name not in elsewhere},
        **{name: row for name, row in OF_ALL.items() if name != "ngrams" or head == CLASSIFIER},
    }


def with_readers(table: dict[str, Option], head: str) -> dict[str, Option]:
    """Returns a copy of a table in which each option requires an encoder that reads the option.

    If some encoders of `head` do not read an option, a rule such as `encoder=bilstm|slstm`, which
    names the encoders that read the option, is added to its `needs`.
    """
    kinds, found = {n: kind for n, kind in ENCODERS.items() if head in kind.heads}, {}
    for name, row in table.items():
        readers = [kind for kind in kinds if name in kinds[kind].options]
        if readers and len(readers) < len(kinds):
            needs = (row.needs,) if isinstance(row.needs, str) else row.needs
            row = row._replace(needs=(f"encoder={'|'.join(readers)}", *needs))
        found[name] = row
    return found


def labeling_groups(head: str, data: dict[str, Option], output: Group) -> list[Group]:
    """Returns the list of option groups of train-tagger or train-classifier.

    `head` is `TAGGER` or `CLASSIFIER`. `data` is the table of the options for the data, and
    `output` is the group of options that only this command has.
    """
    training = {name: row for name, row in LABELING.items() if name not in OPTIMIZER}
    words = "Vocabulary, word vectors and vectors of a biLM."
    groups = [
        Group("data", "Training and evaluation files, their format and their tokens.", data),
        Group("encoder", "Network between the token vectors and the output.", encoder_table(head)),
        Group("words", words, {**WORDS, **VECTORS}),
        output,
        Group("training", "Length of training, batches and checkpoints.", training),
        Group("optimizer", "Learning rates and penalties of the Adam optimizer.", OPTIMIZER),
        RUN_GROUP,
    ]
    tables = [with_readers(group.options, head) for group in groups]
    if head == TAGGER:
        tables[1] = {**INIT, **brought_by("init", tables[1], WITH_INIT)}
        read = {name: tables[2][name]._replace(unused_with="init") for name in FROM_INIT}
        tables[2] = {**brought_by("init", tables[2], FROM_INIT), **read}
    return [
        group._replace(options=with_levels(table, COMMON, KEYS))
        for group, table in zip(groups, tables, strict=True)
    ]
