"""Defines the options of `pretrain-bert`: text, tokens, tasks, model and training."""

from tfreps._src.cli.command import Group
from tfreps._src.cli.option_rules import brought_by
from tfreps._src.cli.options import Option, with_levels
from tfreps.training.options.training_options import (
    LABELING,
    OPTIMIZER,
    RUN_GROUP,
    SCHEDULE,
    SHARED,
    WORKER_DATA,
)

SIZE = "bert_6x384"

TEXT = {
    "train": Option(
        str, None, "Files with training text, or glob patterns.", many=True, required=True,
        metavar="FILE",
    ),
    "validation": Option(
        str, None, "Files with validation text, or glob patterns. The text is used to select the "
        "best weights. Without this option, the last weights are saved.", many=True, metavar="FILE",
    ),
    "format": Option(
        str, "lines", "Format of the text: one sentence per line with blank lines between "
        "documents (lines), or one JSON object or Python dict literal per line, with two sentences "
        "(records).", ["lines", "records"],
    ),
    "fields": Option(
        str, ["text1", "text2"], "Names of the fields that contain the sentences of a record.",
        many=True, needs="format=records", metavar="NAME",
    ),
    "max_length": Option(
        int, 128, "Maximum number of tokens in a training text, special tokens included. A text "
        "consists of consecutive sentences of a document. Longer sentences are split into several "
        "texts or, with next-sentence prediction, truncated.", at_least=5
    ),
    "worker_data": WORKER_DATA,
}  # fmt: skip
TOKENS = {
    "tokens": Option(
        str, None, "How to split the text into tokens: into characters, with each Latin word and "
        "each number as one token (characters), or into WordPiece pieces (wordpiece). Defaults to "
        "characters. With --init, the tokenizer of that model is used.",
        ["characters", "wordpiece"],
    ),
    "vocabulary": Option(
        str, None, "Vocabulary file with one piece per line or, with --tokens characters, a .json "
        "file that 'tfreps build-vocabulary --tokens bert-characters' wrote. Required with "
        "--tokens wordpiece. With --tokens characters, the vocabulary is by default built from the "
        "training text.", metavar="FILE",
    ),
    "cased": Option(
        bool, False, "Keep capital letters instead of converting the text to lower case. With "
        "--tokens wordpiece, this also keeps accents, which are removed by default.",
    ),
    "min_count": Option(
        int, None, "Leave out characters that occur fewer than N times when the vocabulary is "
        "built from the training text. Defaults to 1.", at_least=1, excludes="vocabulary",
    ),
}  # fmt: skip
TASKS = {
    "next_sentence": Option(
        bool, True, "Train on next-sentence prediction in addition to the masked language model."
    ),
    "next_label": Option(
        int, 0, "Label of a pair of sentences in which the second follows the first in the text; "
        "all other pairs get the other label. Google's BERT uses 0.", [0, 1],
        excludes="no_next_sentence",
    ),
    "mask_rate": Option(
        float, 0.15, "Share of the tokens, between 0 and 1, that the model must predict. With "
        "--whole-words, share of the words.", above=0, below=1,
    ),
    "whole_words": Option(
        bool, False, "Mask all pieces of a word or none. Cannot be used with --tokens characters."
    ),
}  # fmt: skip
MODEL = {
    "init": Option(
        str, None, "Model from which training continues: a run folder of 'tfreps pretrain-bert' or "
        "a published BERT checkpoint, given by path, name (see 'tfreps presets') or hf:// address. "
        "By default, training starts from random weights.", metavar="MODEL",
    ),
    "size": Option(
        str, None, "Size of the model, by name. Flags such as --hidden-dim override individual "
        f"sizes. Defaults to {SIZE}.", [
            *("bert_6x384", "bert_base", "bert_large", "bert_medium", "bert_mini", "bert_nano"),
            *("bert_small", "bert_tiny"),
        ],
    ),
    "hidden_dim": Option(
        int, None, "Width of the hidden vectors. Defaults to the width that --size sets.",
        at_least=1,
    ),
    "num_layers": Option(
        int, None, "Number of encoder layers. Defaults to the number that --size sets.", at_least=1
    ),
    "num_heads": Option(
        int, None, "Number of attention heads per layer. Defaults to the number that --size sets.",
        at_least=1,
    ),
    "intermediate_dim": Option(
        int, None, "Width of the hidden layer in each feed-forward network. Defaults to four times "
        "the width of the hidden vectors.", at_least=1,
    ),
    "normalize_first": Option(
        bool, None, "Apply layer normalization before the attention and feed-forward layers "
        "instead of after them. By default, it is applied after them.",
    ),
    "activation": Option(
        str, None, "Activation function of the feed-forward layers. Defaults to gelu.",
        ["gelu", "gelu_tanh", "relu"],
    ),
    "positions": Option(
        str, None, "Position vectors: learned (learned), the sines and cosines of the Transformer "
        "paper (sinusoidal), or a variant of these in which each dimension has its own wavelength "
        "(sinusoidal_full_index). Defaults to the kind that --size sets.",
        ["learned", "sinusoidal", "sinusoidal_full_index"],
    ),
    "max_sequence_length": Option(
        int, None, "Number of learned position vectors, which is the maximum number of tokens in a "
        "text. Defaults to the number that --size sets.", at_least=1,
    ),
    "dropout": Option(
        float, None, "Dropout rate of the hidden vectors. Defaults to the rate that --size or the "
        "--init model sets.", at_least=0, below=1,
    ),
    "attention_dropout": Option(
        float, None, "Dropout rate of the attention weights. Defaults to the rate that --size or "
        "the --init model sets.", at_least=0, below=1,
    ),
}  # fmt: skip
TRAINING = {
    "epochs": Option(int, 40, "Maximum number of passes over the training text.", at_least=1),
    "patience": LABELING["patience"]._replace(
        needs="validation",
        about="Stop training after this many epochs without a better metric on the validation "
        "data. By default, training does not stop early.",
    ),
    "batch_tokens": LABELING["batch_tokens"]._replace(default=4096),
    "batch_size": Option(
        int, None, "Maximum number of texts in a batch. By default, only --batch-tokens limits the "
        "size of a batch.", at_least=1,
    ),
    "gradient_accumulation_steps": Option(
        int, 1, "Number of batches whose gradients are accumulated for one update.", at_least=1
    ),
    "optimizer": Option(
        str, "adamw", "Optimizer: AdamW (adamw) or LAMB (lamb).", ["adamw", "lamb"]
    ),
    "learning_rate": Option(
        float, 5e-4, "Highest learning rate, which is reached at the end of the warm-up.", above=0
    ),
    "warmup_steps": OPTIMIZER["warmup_steps"],
    "schedule": OPTIMIZER["schedule"]._replace(default="linear", about=SCHEDULE),
    "weight_decay": Option(
        float, 0.01, "Decoupled weight decay as in AdamW. It applies to all weights except biases "
        "and those of layer normalization.", at_least=0,
    ),
    "clip_norm": OPTIMIZER["clip_norm"]._replace(default=1.0),
    **SHARED,
    "log_every": Option(
        int, 100, "Number of steps between two log entries within an epoch.", at_least=1
    ),
}  # fmt: skip
CHANGEABLE = "dropout", "attention_dropout"  # options of a model that can be changed with --init
COMMON = (  # options that --help shows
    *("train", "validation", "format", "max_length", "tokens", "vocabulary", "cased"),
    *("next_sentence", "mask_rate", "whole_words", "init", "size", "epochs", "batch_tokens"),
    *("learning_rate", "warmup_steps", "time_limit_minutes", "run", "resume", "overwrite"),
)
GROUPS = [
    Group("text", "Training and validation text, and its format.", TEXT),
    Group("tokens", "Tokenizer and vocabulary.", brought_by("init", TOKENS)),
    Group("tasks", "Pre-training tasks.", TASKS),
    Group(
        "model",
        "Sizes of the encoder, or the model from which training continues.",
        brought_by("init", MODEL, CHANGEABLE),
    ),
    Group("training", "Length of training, batches and optimizer.", TRAINING),
    RUN_GROUP,
]
GROUPS = [group._replace(options=with_levels(group.options, COMMON)) for group in GROUPS]
SIZES = sorted(set(MODEL) - {"init", "size"})
