"""Defines the options of `pretrain-elmo`: text, model, training and logs."""

from tfreps._src.cli.command import Group
from tfreps._src.cli.option_rules import brought_by
from tfreps._src.cli.options import Option, json_or_text, with_levels
from tfreps.training.options.training_options import (
    OPTIMIZER,
    PRECISION,
    RUN_GROUP,
    SHARED,
    WORKER_DATA,
)

CHANGEABLE = "dropout", "precision"  # options of a model that can be changed with --init


def are_filters(pairs):
    """Returns True if a value is a list of pairs of integers."""
    is_pair = [
        isinstance(pair, list) and len(pair) == 2 and all(type(n) is int for n in pair)
        for pair in (pairs if isinstance(pairs, list) else [None])
    ]
    return all(is_pair)


TEXT = {
    "train": Option(
        str, None, "Files with one tokenized training sentence per line, or glob patterns.",
        many=True, required=True, metavar="FILE",
    ),
    "validation": Option(
        str, None, "Files with one tokenized validation sentence per line, or glob patterns. The "
        "sentences are used to measure the perplexity and to select the best weights. Without this "
        "option, the last weights are saved.", many=True, metavar="FILE",
    ),
    "vocabulary": Option(
        str, None, "Vocabulary file written by 'tfreps build-vocabulary'. Defaults to the "
        "vocabulary in the run folder of --init. Required for a new run unless --init is a run "
        "folder.", metavar="FILE",
    ),
    "worker_data": WORKER_DATA,
}  # fmt: skip
# Options of BiLM that have a flag of their own.
SIZES = {
    "filters": Option(
        json_or_text, None, "Filters of the character CNN, as a JSON list of [width, count] pairs. "
        "Defaults to the filters that --size sets.",
        must_be=(are_filters, "a list of [width, count] pairs, as in [[1,32],[2,64]]"),
        metavar="JSON",
    ),
    "character_dim": Option(
        int, None, "Width of the character vectors. Defaults to 16.", at_least=1
    ),
    "num_highways": Option(
        int, None, "Number of highway layers after the character CNN. Defaults to the number that "
        "--size sets.", at_least=0,
    ),
    "activation": Option(
        str, None, "Activation function of the character CNN, such as relu or tanh. Defaults to "
        "relu.", metavar="NAME",
    ),
    "max_characters": Option(
        int, None, "Number of character ids per token, including those that mark its start and "
        "end. Longer tokens are truncated. Defaults to 50.", at_least=3,
    ),
    "units": Option(
        int, None, "Width of the LSTM cell states in each direction. Defaults to the width that "
        "--size sets.", at_least=1,
    ),
    "projection_dim": Option(
        int, None, "Width of the LSTM hidden states in each direction, which are projections of "
        "wider outputs. Defaults to the width that --size sets.", at_least=1,
    ),
    "num_layers": Option(
        int, None, "Number of LSTM layers in each direction. Defaults to 2.", at_least=1
    ),
    "cell_clip": Option(
        float, None, "Bound X of the cell states, whose values are clipped to the range from -X to "
        "X. Defaults to 3.", above=0,
    ),
    "projection_clip": Option(
        float, None, "Bound X of the hidden states, whose values are clipped to the range from -X "
        "to X. Defaults to 3.", above=0,
    ),
    "dropout": Option(
        float, None, "Dropout rate before each LSTM layer and before the softmax. Defaults to 0.1, "
        "or to the rate of the --init model.", at_least=0, below=1,
    ),
}  # fmt: skip
MODEL = {
    "init": Option(
        str, None, "Model from which training continues: a run folder, a published biLM or a "
        "training folder of bilm-tf, given by path, name (see 'tfreps presets') or hf:// address. "
        "By default, training starts from random weights.", metavar="MODEL",
    ),
    "init_config": Option(
        str, None, "options.json file that describes the --init weights. Defaults to options.json "
        "in the folder of the weights.", needs="init", metavar="FILE",
    ),
    "size": Option(
        str, None, "Name of a set of sizes for the model. Flags such as --units override "
        "individual sizes. Defaults to elmo_small.",
        ["elmo_medium", "elmo_original", "elmo_small", "elmo_tiny"],
    ),
    **SIZES,
    "use_skip_connections": Option(
        bool, True, "Add the input of each LSTM layer to its output, from the second layer on."
    ),
    "bidirectional": Option(
        bool, True, "Train a forward and a backward language model instead of only a forward one."
    ),
    "word_input": Option(
        bool, False, "Read the id of each token instead of the ids of its characters. Tokens that "
        "are not in the vocabulary then share one vector.",
    ),
    "tie_embeddings": Option(
        bool, False, "Use the same weights for the token vectors and the softmax. Requires "
        "--word-input.",
    ),
    "precision": PRECISION._replace(choices=[*PRECISION.choices, "float16"]),
}  # fmt: skip
TRAINING = {
    "batch_size": Option(
        int, 128, "Number of rows in a batch. Each row is a separate stream of sentences.",
        at_least=1,
    ),
    "unroll_steps": Option(
        int, 20, "Number of tokens in each row of a batch, which is also the number of tokens "
        "through which gradients are propagated.", at_least=1,
    ),
    "epochs": Option(
        float, None, "Number of passes over the training text, which may be a fraction. Defaults "
        "to 10.", above=0, at_most=1e6, excludes="steps",
    ),
    "steps": Option(
        int, None, "Number of training steps, each of which updates the weights once. By default, "
        "--epochs determines the number.", at_least=1,
    ),
    "time_limit_minutes": SHARED["time_limit_minutes"],
    "num_sampled": Option(
        int, None, "Number of negative samples in the sampled softmax; with 0, the loss is that of "
        "the full softmax. Defaults to 8192, or to 0 if the vocabulary has at most 8192 tokens.",
        at_least=0,
    ),
    "allow_unsorted_vocabulary": Option(
        bool, False, "Allow the sampled softmax with a vocabulary that is not sorted by frequency. "
        "By default, such a vocabulary is an error, because negative samples are drawn as if "
        "frequent tokens came first.",
    ),
    "optimizer": Option(
        str, "adagrad", "Optimizer: Adagrad as in bilm-tf (adagrad), or Adam (adam).",
        ["adagrad", "adam"],
    ),
    "learning_rate": Option(
        float, None, "Learning rate of the optimizer. Defaults to 0.2 for adagrad and to 0.001 for "
        "adam.", above=0,
    ),
    "schedule": Option(
        str, "constant", "How the learning rate changes during training: not at all (constant), or "
        "along a cosine curve to 0 (cosine).", ["constant", "cosine"],
    ),
    "warmup_steps": Option(
        int, 0, "Number of steps over which the learning rate rises linearly from 0. Has an effect "
        "only with --schedule cosine.", at_least=0, unused_with="schedule=constant",
    ),
    "clip_norm": OPTIMIZER["clip_norm"]._replace(default=10.0),
    "reset_probability": Option(
        float, 0.01, "Probability that a row of a batch starts from the initial state of the biLM "
        "instead of the LSTM state at the end of the previous batch. With 0, no row is reset.",
        at_least=0, at_most=1,
    ),
    "seed": Option(
        int, 0, "Random seed for weights, shuffling, dropout and negative samples.", at_least=0
    ),
    "deterministic": SHARED["deterministic"],
}  # fmt: skip
LOGS = {
    "log_every": Option(int, 100, "Number of steps between two log entries.", at_least=1),
    "checkpoint_every": SHARED["checkpoint_every"]._replace(default=1000),
    "keep_checkpoints": SHARED["keep_checkpoints"],
    "evaluate_every": Option(
        int, None, "Number of steps between two evaluations on the validation data. Defaults to "
        "the number of steps in one pass over the text.", at_least=1,
    ),
    "histograms": Option(bool, False, "Write histograms of all trainable weights for TensorBoard."),
}  # fmt: skip
COMMON = (  # options that --help shows
    *("train", "validation", "vocabulary", "init", "size", "dropout", "batch_size", "unroll_steps"),
    *("epochs", "steps", "num_sampled", "optimizer", "learning_rate", "schedule", "warmup_steps"),
    *("time_limit_minutes", "evaluate_every", "run", "resume", "overwrite"),
)
GROUPS = [
    Group("text", "Training and validation text, and its vocabulary.", TEXT),
    Group(
        "model",
        "Sizes of the biLM, or the model from which training continues.",
        brought_by("init", MODEL, ("init_config", *CHANGEABLE)),
    ),
    Group("training", "Length of training, batches and optimizer.", TRAINING),
    Group("logs", "Intervals of logs, checkpoints and evaluations.", LOGS),
    RUN_GROUP,
]
GROUPS = [group._replace(options=with_levels(group.options, COMMON)) for group in GROUPS]
