"""Options of the commands that train: run folder, precision, optimizer, length and checkpoints."""

from tfreps._src.cli.command import Group
from tfreps._src.cli.options import Option
from tfreps.training.workers.cluster import KINDS

RUN = {
    "run": Option(
        str, None, "Run folder for the model, checkpoints, logs and results.", required=True,
        metavar="DIR",
    ),
    "resume": Option(bool, False, "Continue the run in the --run folder from its last checkpoint."),
    "distribute": Option(
        str, None, "Where to train: on one device (none), on all GPUs of this machine (mirrored), "
        "or in several processes, such as those of 'tfreps launch' (multiworker). Defaults to "
        "mirrored if there are several GPUs, otherwise to none.", KINDS,
    ),
    "overwrite": Option(bool, False, "Replace an earlier run in the --run folder."),
}  # fmt: skip
RUN_GROUP = Group("run", "Folder of a new or a resumed run.", RUN)
WORKER_DATA = Option(
    str, "rows", "How several workers share the training text: each worker reads all files and "
    "uses its own rows of every batch (rows), or each worker reads only its own share of the files "
    "(files). With rows, batches and gradients are the same for any number of workers, except for "
    "float32 rounding.", ["rows", "files"],
)  # fmt: skip


def check_worker_data(options):
    """Raises ValueError if `worker_data` is files and `distribute` is not multiworker.

    A command without the option `worker_data` passes.
    """
    if getattr(options, "worker_data", "rows") == "files" and options.distribute != "multiworker":
        number = ", with the number of workers of the earlier run," * options.resume
        raise ValueError(
            f"`distribute` must be multiworker{number} if `worker_data` is files; got "
            f"{options.distribute}. Set `distribute` to multiworker, or omit `worker_data`."
        )


AUTO = "auto"
PRECISION = Option(
    str, AUTO, "Data type of matrix multiplications; weights stay float32. auto uses the type that "
    "is expected to be fastest for this model on this machine, and the run folder stores that "
    "type.", [AUTO, "bfloat16", "float32"],
)  # fmt: skip
# Options of every command that trains with gradients.
SHARED = {
    "time_limit_minutes": Option(
        float, None, "Stop training after this many minutes. By default, there is no time limit.",
        above=0,
    ),
    "precision": PRECISION,
    "checkpoint_every": Option(int, 500, "Number of steps between two checkpoints.", at_least=1),
    "keep_checkpoints": Option(
        bool, False, "Keep the last two checkpoints when training has ended, so that --resume can "
        "train the run for longer.",
    ),
    "seed": Option(int, 0, "Random seed for weights, shuffling and dropout.", at_least=0),
    "deterministic": Option(
        bool, False, "Use deterministic operations, so that identical runs give identical results. "
        "This is slower on GPUs.",
    ),
}  # fmt: skip
SCHEDULE = (
    "How the learning rate changes after the warm-up: not at all (constant), or linearly to 0 by "
    "the end of the last epoch (linear)."
)
# Options of the Adam optimizer in train-tagger and train-classifier.
OPTIMIZER = {
    "learning_rate": Option(
        float, None, "Learning rate of the Adam optimizer. Defaults to 0.001.", above=0
    ),
    "decay": Option(
        float, 1.0, "Factor that multiplies the learning rate after each epoch.", above=0,
        excludes=("warmup_steps", "schedule=linear"),
    ),
    "plateau_decay": Option(
        float, 1.0, "Factor that multiplies the learning rate after each epoch without a better "
        "validation metric.", above=0,
    ),
    "warmup_steps": Option(
        int, None, "Number of batches over which the learning rate rises linearly from 0. Defaults "
        "to a tenth of all batches with --schedule linear, and otherwise to 0.", at_least=0,
    ),
    "schedule": Option(
        str, None, f"{SCHEDULE} Defaults to linear for a pre-trained bert if decay is 1, and "
        "otherwise to constant.", ["constant", "linear"],
    ),
    "clip_norm": Option(
        float, 5.0, "Maximum L2 norm of the gradient of all weights together; a larger gradient is "
        "scaled down to this norm. With 0, gradients are not clipped.", at_least=0,
    ),
    "weight_decay": Option(
        float, 0.0, "Decoupled weight decay as in AdamW. It applies to all weights except biases "
        "and, in models with bert, those of layer normalization.", at_least=0,
    ),
    "l2": Option(
        float, 0.0, "L2 penalty: half of this factor times the sum of squared weights is added to "
        "the loss. Biases and other one-dimensional weights are excluded.", at_least=0,
    ),
    "embedding_learning_rate": Option(
        float, None, "Learning rate of the word vectors. Defaults to --learning-rate.", above=0,
        excludes=("no_words", "no_trainable_embeddings"),
    ),
    "elmo_learning_rate": Option(
        float, 1e-4, "Learning rate of the biLM with --elmo-fine-tune.", above=0,
        needs="elmo_fine_tune",
    ),
    "linear_learning_rate": Option(
        float, None, "Learning rate of the linear model that is added to the network. Defaults to "
        "--learning-rate.", above=0, needs="linear_features or ngrams",
    ),
    "bert_learning_rate": Option(
        float, None, "Learning rate of the last BERT layer; layer_decay determines the learning "
        "rates of earlier layers. Defaults to --learning-rate or, if that is not given, to 0.00005 "
        "(with --lora-rank or bert_from_scratch, to 0.001).", above=0, needs="bert",
    ),
    "layer_decay": Option(
        float, None, "Factor between the learning rates of consecutive BERT layers: each layer "
        "uses the learning rate of the next layer times this factor. Values below 1 give earlier "
        "layers lower rates. Defaults to 1.", above=0, needs="bert",
    ),
    "ema_momentum": Option(
        float, 0.0, "Momentum of the exponential moving averages of the weights, which are "
        "evaluated and saved instead of the weights. 0.99 averages over about the last 100 "
        "updates, and over fewer in the first 900. With 0, weights are not averaged.", at_least=0,
        below=1,
    ),
}  # fmt: skip
# Options for the training of taggers and classifiers.
LABELING = {
    "epochs": Option(
        int, None, "Maximum number of passes over the training data. Defaults to 30; for a "
        "pre-trained bert, to 3 in train-classifier and to 5 in train-tagger.", at_least=1,
    ),
    "patience": Option(
        int, None, "Stop training after this many epochs without a better metric on the validation "
        "data. Defaults to 5; with 'tfreps train-tagger --init', to 15.", at_least=1,
    ),
    "batch_tokens": Option(
        int, 2048, "Maximum number of tokens in a batch, padding included.", at_least=1
    ),
    "batch_size": Option(int, 32, "Maximum number of sentences or texts in a batch.", at_least=1),
    **OPTIMIZER,
    **SHARED,
    "seeds": Option(
        int, None, "Train one run for each of these random seeds, one after another, in the "
        "folders seed-N of --run, and report the mean and the spread of their metrics. With "
        "--resume, more seeds can be given.", many=True, at_least=0,
        must_be=(lambda seeds: len(set(seeds)) == len(seeds) > 1, "two or more different numbers"),
        excludes=("seed", "time_limit_minutes", "distribute=multiworker"),
    ),
}  # fmt: skip
