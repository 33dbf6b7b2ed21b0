"""Options of pre-training a BERT: text, tokens, tasks, sizes and training, in tables by name."""

import keras

from tfreps.cli import fit_options
from tfreps.cli.option_rules import brought_by
from tfreps.cli.options import Option
from tfreps.data.masked_lm.token_documents import FORMATS, RECORD_FIELDS
from tfreps.layers.position_embedding import KINDS as POSITIONS
from tfreps.layers.transformer import ACTIVATIONS, NORMALIZATIONS
from tfreps.models.presets import BERT
from tfreps.optimizers import FusedAdam
from tfreps.text.bert.tokenizer_files import KINDS

PRESET = "bert_6x384"
SCHEDULES = "linear", "constant"
OPTIMIZERS = {"adamw": FusedAdam, "lamb": keras.optimizers.Lamb}

TEXT = {
    "train": Option(str, None, "files or globs of text", many=True, required=True),
    "validation": Option(str, None, "held-out text, for the best weights", many=True),
    "format": Option(str, "lines", "sentences and blank lines, or records (lines)", FORMATS),
    "fields": Option(
        str, list(RECORD_FIELDS), "sentences of a record (text1 text2)", many=True,
        needs="format=records",
    ),
    "max_length": Option(int, 128, "tokens of a text at most, special ones too (128)", at_least=5),
}  # fmt: skip
TOKENS = {
    "tokens": Option(str, None, "what text is cut into (characters)", sorted(KINDS)),
    "vocabulary": Option(str, None, "one piece a line, or a dictionary of aespresso (.json)"),
    "cased": Option(bool, False, "keep capital letters"),
    "min_count": Option(
        int, None, "of characters that are counted (1)", at_least=1, excludes="vocabulary"
    ),
}
TASKS = {
    "next_sentence": Option(
        bool, True, "learn from pairs of sentences, too; or from hidden tokens alone"
    ),
    "next_label": Option(
        int,
        0,
        "label of a pair that is next; 0 in Google's BERT (0)",
        [0, 1],
        excludes="no_next_sentence",
    ),
    "mask_rate": Option(float, 0.15, "share of hidden tokens (0.15)", above=0, below=1),
    "whole_words": Option(bool, False, "hide all pieces of a word together"),
}
MODEL = {
    "init": Option(str, None, "go on from this run folder or published checkpoint"),
    "preset": Option(str, None, f"sizes ({PRESET}), unless these say others:", sorted(BERT)),
    "hidden_dim": Option(int, None, "width of the vectors", at_least=1),
    "num_layers": Option(int, None, "blocks", at_least=1),
    "num_heads": Option(int, None, "of attention", at_least=1),
    "intermediate_dim": Option(int, None, "width inside the blocks", at_least=1),
    "normalization": Option(str, None, "layer norm behind or before", NORMALIZATIONS),
    "activation": Option(str, None, "of the blocks", sorted(ACTIVATIONS)),
    "positions": Option(str, None, "how positions are told", POSITIONS),
    "max_positions": Option(int, None, "of learned positions", at_least=1),
    "dropout": Option(float, None, "(that of the preset, or of --init)", at_least=0, below=1),
    "attention_dropout": Option(float, None, "of attention", at_least=0, below=1),
}
TRAINING = {
    "epochs": Option(int, 40, "passes over the text (40)", at_least=1),
    "patience": Option(
        int, None, "epochs without a better metric, then it ends", at_least=1, needs="validation"
    ),
    "batch_tokens": Option(int, 4096, "tokens of a batch, padding included (4096)", at_least=1),
    "batch_rows": Option(int, None, "texts of a batch at most", at_least=1),
    "gradient_accumulation_steps": Option(
        int, 1, "batches whose gradients make up an update (1)", at_least=1
    ),
    "optimizer": Option(str, "adamw", "(adamw)", sorted(OPTIMIZERS)),
    "learning_rate": Option(float, 5e-4, "the highest (0.0005)", above=0),
    "warmup_steps": Option(int, None, "batches until then (a tenth of all)", at_least=0),
    "schedule": Option(str, "linear", "falls to nothing, or stays (linear)", SCHEDULES),
    "weight_decay": Option(float, 0.01, "of all but biases and layer norms (0.01)", at_least=0),
    "clip_norm": Option(float, 1.0, "of the gradient; 0: none (1)", at_least=0),
    **fit_options.SHARED,
    "log_every": Option(int, 100, "steps between points within an epoch (100)", at_least=1),
}
CHANGEABLE = "dropout", "attention_dropout"  # of a model that training goes on with
TABLES = {
    "text": TEXT,
    "tokens": brought_by("init", TOKENS),
    "tasks": TASKS,
    "model": brought_by("init", MODEL, CHANGEABLE),
    "training": TRAINING,
}
SIZES = sorted(set(MODEL) - {"init", "preset"})
