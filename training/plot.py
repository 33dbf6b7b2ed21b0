"""Draws attention, position vectors or learning curves as a PNG file.

`tfreps plot KIND --help` shows the options of a kind of plot: attention, positions or curves. With
--tensorboard RUN/logs, TensorBoard shows the picture too. Plots need matplotlib: pip install
matplotlib.
"""

import pathlib
import sys

from tfreps import plots
from tfreps.cli.option_rules import as_flag
from tfreps.cli.options import (
    Option,
    add_flags,
    check_options,
    first_line,
    parse_options,
    short_errors,
)
from tfreps.cli.output_checks import check_output
from tfreps.cli.program_help import program_parser
from tfreps.plots.curves import PLACES
from tfreps.plots.position_maps import VIEWS
from tfreps.runs.run_folder import RunFolder

PROGRAM = "plot"
KINDS, WIDTH = (
    ("sinusoidal", "sinusoidal_full_index"),
    128,
)  # of sinusoidal positions; the first kind is the default of --positions
OF_ATTENTION = {
    "layer": Option(
        int,
        None,
        "Encoder layer to draw, counted from 1. By default, the mean over all layers is drawn.",
        at_least=1,
    ),
    "head": Option(
        int,
        None,
        "Attention head to draw, counted from 1. By default, the mean over all heads is drawn.",
        at_least=1,
    ),
}
OF_VIEW = {
    "view": Option(
        str, "map", "Kind of picture: a heat map (map), a curve for each of --dimensions (curves), "
        "or a surface of the products of all pairs of vectors (surface).", VIEWS,
    ),
}  # fmt: skip
OF_POSITIONS = {
    "hidden_dim": Option(
        int, None, "Width of the sinusoidal position vectors. Defaults to 128. Cannot be used "
        "with MODEL.", at_least=1, at_most=100_000,
    ),
    "length": Option(
        int, None, "Number of positions to draw. Defaults to 100, or to all positions if MODEL has "
        "learned position vectors.", at_least=1, at_most=100_000,
    ),
    "first": Option(
        int, 0, "First position that --view surface draws, counted from 0.", at_least=0,
        needs="view=surface",
    ),
    "dimensions": Option(
        int, [1, 2, 3], "Dimensions that --view curves draws, counted from 0.", many=True,
        at_least=0, needs="view=curves",
    ),
}  # fmt: skip
ABOUT = {
    "attention": "attention weights between the tokens of a text as a heat map",
    "positions": "position vectors as a heat map, as curves, or as the surface of their products",
    "curves": "metrics of runs over their epochs or steps",
}
EXAMPLES = {
    "attention": (
        'tfreps plot attention runs/bert --text "by the river bank" --output attention.png',
        'tfreps plot attention runs/bert --text "a bank" --layer 3 --head 1 --output head.png',
        'tfreps plot attention runs/bert --text "I left." --second "He stayed." --output pair.png',
    ),
    "positions": (
        "tfreps plot positions --positions sinusoidal --view surface --output surface.png",
        "tfreps plot positions --view curves --dimensions 0 1 8 --output waves.png",
        "tfreps plot positions runs/bert --output learned.png",
    ),
    "curves": (
        "tfreps plot curves runs/bert --output curves.png",
        "tfreps plot curves runs/bert runs/longer --figures loss --over step --output loss.png",
        "tfreps plot curves runs/ner --output curves.png --tensorboard runs/ner/logs",
    ),
}


def main(argv=None):
    argv = sys.argv[1:] if argv is None else list(argv)
    what, rest = argv[:1], argv[1:]
    chosen = what[0] if what and what[0] in ABOUT else None
    if chosen is None:
        short_errors(make_overview()).parse_args(what or ["--help"])  # ends the program
        return 0
    options = parse_options(make_parser(chosen), rest)
    check_picture(options.output, options.overwrite)
    draw = {"attention": draw_attention, "positions": draw_positions, "curves": draw_curves}
    path = plots.save_figure(draw[chosen](options), options.output)
    if options.tensorboard is not None:
        plots.show_in_tensorboard(options.tensorboard, [path])
    print(path)
    return 0


def make_overview():
    parser = program_parser(
        f"tfreps {PROGRAM}",
        first_line(__doc__),
        tuple(examples[0] for examples in EXAMPLES.values()),
        usage=f"tfreps {PROGRAM} {{{','.join(ABOUT)}}} [options]",
    )
    kinds = "; ".join(f"{kind}: {about}" for kind, about in ABOUT.items())
    about = f"Kind of plot. {kinds}."
    parser.add_argument("what", metavar="KIND", choices=sorted(ABOUT), help=about)
    return parser


def make_parser(what):
    about = f"Draws {ABOUT[what]}."
    parser = program_parser(f"tfreps {PROGRAM} {what}", about, EXAMPLES[what])
    {"attention": add_attention, "positions": add_positions, "curves": add_curves}[what](parser)
    add = parser.add_argument_group("output", "Picture to write.").add_argument
    add("--output", metavar="FILE.png", required=True, help="PNG file to write.")
    add("--overwrite", action="store_true", help="Replace the picture if it exists.")
    about = "Log folder, such as RUN/logs, to which the picture is added for TensorBoard."
    add("--tensorboard", metavar="LOGS", help=about)
    return parser


def add_attention(parser):
    about = (
        "Run folder of 'tfreps pretrain-bert', run folder of a tagger or classifier with --encoder "
        "transformer or bert, or folder of a published BERT model with its vocabulary."
    )
    parser.add_argument("model", metavar="MODEL", help=about)
    group = parser.add_argument_group("attention", "Text, and the attention weights to draw.")
    add = group.add_argument
    add("--text", required=True, help="Raw text, which is tokenized as in training.")
    about = "Second text of a pair, for BERT models and for classifiers with --encoder bert."
    add("--second", metavar="TEXT", help=about)
    add_flags(group, OF_ATTENTION)
    about = (
        "Font file that has the characters of the tokens. By default, an installed font that has "
        "them is used."
    )
    add("--font", metavar="FILE", help=about)


def add_positions(parser):
    about = (
        "Run folder of a model with a Transformer, or folder of a published BERT model, whose "
        "position vectors are drawn. Without MODEL, sinusoidal vectors are drawn."
    )
    parser.add_argument("model", metavar="MODEL", nargs="?", help=about)
    group = parser.add_argument_group("positions", "Position vectors, and how to draw them.")
    add_flags(group, OF_VIEW)
    add = group.add_argument
    about = (
        "Sinusoidal vectors to draw: those of the Transformer paper (sinusoidal), or a variant in "
        "which each dimension has its own wavelength (sinusoidal_full_index). Defaults to "
        f"{KINDS[0]}. Cannot be used with MODEL."
    )
    add("--positions", choices=KINDS, help=about)
    about = "Scale each sinusoidal position vector to length 1. Cannot be used with MODEL."
    add("--normalize-positions", action="store_true", default=None, help=about)
    add_flags(group, OF_POSITIONS)


def add_curves(parser):
    parser.add_argument("runs", metavar="RUN", nargs="+", help="Run folders of training programs.")
    add = parser.add_argument_group("curves", "Metrics to draw.").add_argument
    about = (
        "Horizontal axis: epochs or steps. Defaults to epochs if all runs have them, and to steps "
        "otherwise."
    )
    add("--over", choices=PLACES, help=about)
    about = (
        "Names of the metrics to draw, such as loss. Defaults to all metrics whose names do not "
        "begin with training/, or to all metrics if there are no others."
    )
    add("--figures", nargs="+", metavar="NAME", help=about)


def check_picture(output, overwrite):
    """Checks the output file before anything is computed."""
    path = pathlib.Path(output)
    if path.suffix.lower() != ".png":
        raise ValueError(f"--output must end in .png; got {output}.")
    check_output(output, overwrite)


def draw_attention(options):
    from tfreps.inference.load import load

    read = load(options.model).attention(options.text, options.second)
    fonts = plots.fonts_for(read.tokens, options.font)
    if fonts.hint:
        print(f"{fonts.hint} You can also pass a font file with --font.", file=sys.stderr)
    which = {"layer": options.layer, "head": options.head}
    return plots.attention_figure(read.probabilities, read.tokens, **which, fonts=fonts)


def draw_positions(options):
    check_options(options, OF_VIEW, OF_POSITIONS)
    table, title = table_and_title(options)
    if options.view == "map":
        return plots.position_map(table, title)
    if options.view == "curves":
        return plots.position_curves(table, options.dimensions, title)
    return plots.position_surface(table, f"{title}: products", options.first)


def table_and_title(options):
    """Returns the position vectors, float32 `[P, D]`, and the title of the picture."""
    from tfreps.inference.attention import POSITIONS, position_table
    from tfreps.inference.load import load
    from tfreps.layers.position_embedding import sinusoids

    if options.model is not None:
        for name in "positions", "hidden_dim", "normalize_positions":
            if getattr(options, name) is not None:
                raise ValueError(
                    f"{as_flag(name)} has no effect with MODEL; omit it or {options.model}."
                )
        encoder = load(options.model).transformer
        return position_table(encoder, options.length), f"{encoder.positions} positions"
    length, kind = options.length or POSITIONS, options.positions or KINDS[0]
    table = sinusoids(length, options.hidden_dim or WIDTH, kind, bool(options.normalize_positions))
    return table.numpy(), f"{kind} positions"


def draw_curves(options):
    paths = [pathlib.Path(run) for run in dict.fromkeys(options.runs)]
    names = [path.resolve().name for path in paths]
    names = names if len(set(names)) == len(names) else [str(path) for path in paths]
    histories = {
        name: RunFolder.open(path).logs_path / "history.jsonl"
        for name, path in zip(names, paths, strict=True)
    }
    for history in histories.values():
        if not history.is_file():
            raise ValueError(f"RUN must be a run with logged metrics; {history} does not exist.")
    return plots.learning_curves_figure(histories, options.figures, options.over)


if __name__ == "__main__":
    raise SystemExit(main())
