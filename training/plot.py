"""Draws attention, position vectors, learning curves, a confusion matrix or a mix of layers.

The plot is a PNG file. `tfreps plot KIND --help` shows the options of a kind of plot: attention,
positions, curves, confusion or mix. With --tensorboard DIR, TensorBoard also shows the figure.
Plots need matplotlib: pip install matplotlib.
"""

import pathlib
import sys

from tfreps import plots
from tfreps._src.cli.command import Command, Group
from tfreps._src.cli.options import Option, as_flag, listed, short_names
from tfreps._src.cli.output_checks import check_output
from tfreps._src.cli.start_tensorflow import start_tensorflow
from tfreps._src.plots.curves import X_AXES
from tfreps._src.plots.matrices import confusion_figure, mix_figure
from tfreps._src.plots.position_maps import VIEWS
from tfreps._src.runs.run_folder import RunFolder
from tfreps._src.runs.seed_folders import seed_folder
from tfreps.tags import TagSet

WIDTH = 128  # default dimension of sinusoidal position vectors
KINDS = "sinusoidal", "sinusoidal_full_index"
MEASURED = "test", "validation", "evaluation"  # parts of results.json with a confusion
OUTPUT = Group("output", "File to write.", {
    "output": Option(str, None, "PNG file to write.", required=True, metavar="FILE"),
    "overwrite": Option(bool, False, "Replace the file if it exists."),
    "tensorboard": Option(
        str, None, "Log folder of TensorBoard, such as runs/bert/logs, to which the figure is also "
        "written.", metavar="DIR",
    ),
})  # fmt: skip
ATTENTION = Command(
    "plot attention",
    "Draws attention weights between the tokens of a text as a heat map.",
    {
        "model": Option(
            str, None, "Model whose attention weights are drawn: a run folder of 'tfreps "
            "pretrain-bert', a run folder of a tagger or classifier with the encoder transformer "
            "or bert, or a folder of a published BERT model with its vocabulary.", required=True,
            metavar="MODEL",
        )
    },
    [
        Group("attention", "Text, and the attention weights to draw.", {
            "text": Option(
                str, None, "Raw text, which is tokenized as in training.", required=True,
                metavar="TEXT",
            ),
            "second": Option(
                str, None, "Second text of a pair, for BERT models and for classifiers with "
                "the encoder bert.", metavar="TEXT",
            ),
            "layer": Option(
                int, None, "Encoder layer to draw, counted from 1. By default, the mean over all "
                "layers is drawn.", at_least=1,
            ),
            "head": Option(
                int, None, "Attention head to draw, counted from 1. By default, the mean over all "
                "heads is drawn.", at_least=1,
            ),
            "font": Option(
                str, None, "Font file that contains the characters of the tokens. Defaults to an "
                "installed font that contains them.", metavar="FILE",
            ),
        }),
        OUTPUT,
    ],
    (
        'tfreps plot attention runs/bert --text "by the river bank" --output attention.png',
        'tfreps plot attention runs/bert --text "a bank" --layer 3 --head 1 --output head.png',
        'tfreps plot attention runs/bert --text "I left." --second "He stayed." --output pair.png',
    ),
)  # fmt: skip
POSITIONS = Command(
    "plot positions",
    "Draws position vectors as a heat map, as curves, or as the surface of their dot products.",
    {
        "model": Option(
            str, None, "Model whose position vectors are drawn: a run folder of a model with a "
            "Transformer, or a folder of a published BERT model. Without MODEL, sinusoidal vectors "
            "are drawn.", metavar="MODEL",
        )
    },
    [
        Group("positions", "Position vectors, and how to draw them.", {
            "view": Option(
                str, "map", "Kind of plot: a heat map (map), a curve for each of --dimensions "
                "(curves), or a surface of the dot products of all pairs of vectors (surface).",
                VIEWS,
            ),
            "positions": Option(
                str, None, "Sinusoidal vectors to draw: those of the Transformer paper "
                "(sinusoidal), or a variant in which each dimension has its own wavelength "
                "(sinusoidal_full_index). Defaults to sinusoidal. Cannot be used with MODEL.",
                KINDS,
            ),
            "normalize_positions": Option(
                bool, False, "Scale each sinusoidal position vector to length 1. Cannot be used "
                "with MODEL.",
            ),
            "hidden_dim": Option(
                int, None, "Width of the sinusoidal position vectors. Defaults to 128. Cannot be "
                "used with MODEL.", at_least=1, at_most=100_000,
            ),
            "length": Option(
                int, None, "Number of positions to draw. Defaults to 100, or to all positions if "
                "MODEL has learned position vectors.", at_least=1, at_most=100_000,
            ),
            "first": Option(
                int, 0, "First position that --view surface draws, counted from 0.", at_least=0,
                needs="view=surface",
            ),
            "dimensions": Option(
                int, [1, 2, 3], "Dimensions that --view curves draws, counted from 0.", many=True,
                at_least=0, needs="view=curves",
            ),
        }),
        OUTPUT,
    ],
    (
        "tfreps plot positions --positions sinusoidal --view surface --output surface.png",
        "tfreps plot positions --view curves --dimensions 0 1 8 --output waves.png",
        "tfreps plot positions runs/bert --output learned.png",
    ),
)  # fmt: skip
CURVES = Command(
    "plot curves",
    "Draws metrics of runs over their epochs or steps.",
    {
        "runs": Option(
            str, None, "Run folders of training commands. The runs of 'tfreps train-tagger "
            "--seeds', given by their common folder, are drawn as their mean and a band from the "
            "lowest to the highest value. A star marks the epoch whose weights were saved as the "
            "best ones.", many=True, required=True, metavar="DIR",
        )
    },
    [
        Group("curves", "Metrics to draw.", {
            "x_axis": Option(
                str, None, "Horizontal axis: epochs or steps. Defaults to epochs if all runs log "
                "metrics by epoch, and to steps otherwise.", X_AXES,
            ),
            "metrics": Option(
                str, None, "Names of the metrics to draw, such as loss. Defaults to all metrics "
                "whose names do not begin with training/, or to all metrics if there are no "
                "others.", many=True, metavar="NAME",
            ),
        }),
        OUTPUT,
    ],
    (
        "tfreps plot curves runs/bert --output curves.png",
        "tfreps plot curves runs/bert runs/longer --metrics loss --x-axis step --output loss.png",
        "tfreps plot curves runs/ner --output curves.png --tensorboard runs/ner/logs",
    ),
    tensorflow=False,
)  # fmt: skip
CONFUSION = Command(
    "plot confusion",
    "Draws how often each true tag or label was predicted as each tag or label.",
    {
        "run": Option(
            str, None, "Run folder of a tagger or classifier with metrics in its results.json.",
            required=True, metavar="DIR",
        )
    },
    [
        Group("confusion", "Metrics to draw.", {
            "part": Option(
                str, None, "Data of the metrics: the test or validation data of the training "
                "command, or the data of the last 'tfreps evaluate' (evaluation). Defaults to the "
                "first of test, validation and evaluation that the run has.", MEASURED,
            ),
            "font": ATTENTION.options["font"]._replace(
                about="Font file that contains the characters of the names. Defaults to an "
                "installed font that contains them."
            ),
        }),
        OUTPUT,
    ],
    (
        "tfreps plot confusion runs/ner --output confusion.png",
        "tfreps plot confusion runs/ner --part validation --output confusion.png",
        "tfreps plot confusion runs/ner --part evaluation --output confusion.png",
    ),
    tensorflow=False,
)  # fmt: skip
MIX = Command(
    "plot mix",
    "Draws with which weights trained models mix the layers of a biLM.",
    {
        "runs": Option(
            str, None, "Run folders of taggers or classifiers that were trained with a biLM, or "
            "with its stored vectors of several layers. The bars of a layer show its share in each "
            "model. The shares of a model sum to 1.", many=True, required=True, metavar="DIR",
        )
    },
    [OUTPUT],
    (
        "tfreps plot mix runs/ner --output mix.png",
        "tfreps plot mix runs/ner runs/pos runs/reviews --output mixes.png",
        "tfreps plot mix runs/ner --output mix.png --tensorboard runs/ner/logs",
    ),
)  # fmt: skip
COMMANDS = {
    "attention": ATTENTION,
    "positions": POSITIONS,
    "curves": CURVES,
    "confusion": CONFUSION,
    "mix": MIX,
}
OVERVIEW = Command(
    "plot",
    __doc__,
    {
        "what": Option(
            str, None, "Kind of plot. attention: attention weights between the tokens of a text "
            "as a heat map; positions: position vectors as a heat map, as curves or as the surface "
            "of their dot products; curves: metrics of runs over their epochs or steps; confusion: "
            "true and predicted tags or labels as a heat map; mix: shares of the layers of a biLM "
            "in trained models as bars.",
            sorted(COMMANDS), required=True, metavar="KIND",
        )
    },
    [],
    tuple(COMMANDS[kind].examples[0] for kind in ("attention", "curves", "confusion")),
    usage=f"tfreps plot {{{','.join(COMMANDS)}}} [options]",
)  # fmt: skip


def main(argv=None):
    what, *rest = (sys.argv[1:] if argv is None else argv) or ["--help"]
    draw = {
        "attention": draw_attention,
        "positions": draw_positions,
        "curves": draw_curves,
        "confusion": draw_confusion,
        "mix": draw_mix,
    }
    if what not in COMMANDS:
        OVERVIEW.parse([what])  # prints the help or an error, and ends the command
    return COMMANDS[what].run(lambda options: write_figure(options, draw[what]), rest)


def write_figure(options, draw):
    if pathlib.Path(options.output).suffix.lower() != ".png":
        raise ValueError(f"--output must end in .png; got {options.output}.")
    check_output(options.output, options.overwrite)
    path = plots.save_figure(draw(options), options.output)
    if options.tensorboard is not None:
        start_tensorflow()
        plots.show_in_tensorboard(options.tensorboard, [path])
    print(path)


def draw_attention(options):
    from tfreps import load

    read = load(options.model).attention(options.text, options.second)
    fonts = plots.find_fonts(read.tokens, options.font)
    if fonts.hint:
        print(f"{fonts.hint} You can also pass a font file with --font.", file=sys.stderr)
    which = {"layer": options.layer, "head": options.head}
    return plots.attention_figure(read.probabilities, read.tokens, **which, fonts=fonts)


def draw_positions(options):
    """Returns a figure of the position vectors of a model, or of sinusoidal ones without MODEL."""
    from tfreps import load
    from tfreps._src.inference.attention import POSITIONS, position_table
    from tfreps._src.layers.position_embedding import sinusoids

    if options.model is not None:
        for name in "positions", "hidden_dim", "normalize_positions":
            if getattr(options, name) not in (None, False):
                raise ValueError(f"{as_flag(name)} has no effect with MODEL; omit one of them.")
        encoder = load(options.model).transformer
        table, title = position_table(encoder, options.length), f"{encoder.positions} positions"
    else:
        kind, scale = options.positions or KINDS[0], options.normalize_positions
        size = options.length or POSITIONS, options.hidden_dim or WIDTH
        table, title = sinusoids(*size, kind, scale).numpy(), f"{kind} positions"
    if options.view == "map":
        return plots.position_map_figure(table, title)
    if options.view == "curves":
        return plots.position_curves_figure(table, options.dimensions, title)
    return plots.position_surface_figure(table, f"{title}: dot products", options.first)


def draw_curves(options):
    histories, best = {}, {}
    for name, path in short_names(options.runs).items():
        run = RunFolder.open(path)
        seeds = run.options.get("seeds")
        runs = [RunFolder.open(seed_folder(path, seed)) for seed in seeds] if seeds else [run]
        histories[name] = [each.logs_path / "history.jsonl" for each in runs]
        best[name] = [each.results().get("best", {}).get("step") for each in runs]
    for history in (history for own in histories.values() for history in own):
        if not history.is_file():
            raise ValueError(
                f"DIR must be a run folder with logged metrics; {history} does not exist."
            )
    return plots.learning_curves_figure(histories, options.metrics, options.x_axis, best)


def draw_confusion(options):
    run = RunFolder.open(options.run)
    results = run.results()
    parts = [part for part in MEASURED if "confusion" in results.get(part, {})]
    if not parts or options.part not in (None, *parts):
        has = f" but those of {listed(parts)}" if parts else ""
        raise ValueError(
            f"{run.results_path} must contain the confusion of tags or labels; it has no results "
            f"of {options.part or 'a tagger or classifier'}{has}. Measure them with tfreps "
            f"evaluate {run.path} --data FILE."
        )
    path = run.tags_path if run.tags_path.exists() else run.labels_path
    names = TagSet.read(path).names
    fonts = plots.find_fonts(names, options.font)
    if fonts.hint:
        print(f"{fonts.hint} You can also pass a font file with --font.", file=sys.stderr)
    return confusion_figure(results[options.part or parts[0]]["confusion"], names, fonts)


def draw_mix(options):
    from tfreps._src.inference.model_loading import load_as
    from tfreps._src.inference.text_model import TextModel

    shares = {}
    for name, path in short_names(options.runs).items():
        mixes = load_as(TextModel, path).model._mix_shares()
        if not mixes:
            raise ValueError(
                f"DIR must be a run folder of a model that mixes layers; {path} has no mix. Train "
                "a model with --elmo, or with --train-vectors of several layers."
            )
        for kind, values in mixes.items():
            shares[f"{name} {kind}" if len(mixes) > 1 else name] = values.numpy()
    return mix_figure(shares)
