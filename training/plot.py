"""Draws attention, position vectors or learning curves as a PNG file.

    tfreps plot attention runs/bert --text "by the river bank" --layer 3 --output attention.png
    tfreps plot positions --positions sinusoidal --view surface --output surface.png
    tfreps plot curves runs/bert runs/longer --output curves.png

`tfreps plot attention --help` and so on tell the options of each. With --tensorboard RUN/logs
TensorBoard shows the picture too. Needs matplotlib: pip install 'tfreps[plots]'.
"""

import argparse
import pathlib
import sys

from tfreps import plots
from tfreps.cli.options import Option, add_flags, parse_options, short_errors
from tfreps.cli.output_checks import check_output
from tfreps.plots.curves import PLACES
from tfreps.plots.position_maps import VIEWS
from tfreps.runs.run_folder import RunFolder

PROGRAM = "plot"
KINDS, WIDTH = (
    ("sinusoidal", "sinusoidal_full_index"),
    128,
)  # of waves, the first without --positions
OF_ATTENTION = {
    "layer": Option(int, None, "block, counted from 1 (the mean over all)", at_least=1),
    "head": Option(int, None, "attention head, from 1 (the mean over all)", at_least=1),
}
OF_POSITIONS = {
    "hidden_dim": Option(int, None, "width, without MODEL (128)", at_least=1, at_most=100_000),
    "length": Option(
        int, None, "positions (100; of a learned table all)", at_least=1, at_most=100_000
    ),
    "first": Option(int, 0, "position the surface begins with (0)", at_least=0),
    "dimensions": Option(
        int, [1, 2, 3], "to draw as curves, from 0 (1 2 3)", many=True, at_least=0
    ),
}
ABOUT = {
    "attention": "how much each token of a text reads of each other, as a heat map",
    "positions": "position vectors: heat map, curves, or the surface of their products",
    "curves": "the figures of runs over their epochs or steps",
}


def main(argv=None):
    argv = sys.argv[1:] if argv is None else list(argv)
    what, rest = argv[:1], argv[1:]
    chosen = what[0] if what and what[0] in ABOUT else None
    if chosen is None:
        short_errors(make_overview()).parse_args(what or ["--help"])  # ends, or says what is wrong
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
    lines = [f"  {name:10} {about}" for name, about in ABOUT.items()]
    parser = argparse.ArgumentParser(
        prog=f"tfreps {PROGRAM}",
        usage=f"tfreps {PROGRAM} {{{','.join(ABOUT)}}} [options]",
        description="\n".join([(__doc__ or ""), "pictures:", *lines]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=sorted(ABOUT), help=argparse.SUPPRESS)
    return parser


def make_parser(what):
    parser = argparse.ArgumentParser(
        prog=f"tfreps {PROGRAM} {what}", description=f"Draws {ABOUT[what]}."
    )
    {"attention": add_attention, "positions": add_positions, "curves": add_curves}[what](parser)
    add = parser.add_argument
    add("--output", metavar="FILE.png", required=True, help="picture to write")
    add("--overwrite", action="store_true", help="replace the picture if it exists")
    add("--tensorboard", metavar="LOGS", help="folder of logs, to show it there too: RUN/logs")
    return parser


def add_attention(parser):
    add = parser.add_argument
    add(
        "model",
        metavar="MODEL",
        help="run folder of a Transformer (pretrain-bert, train-tagger, train-classifier), or "
        "folder of a published BERT with its vocabulary (Google, Hugging Face)",
    )
    add("--text", required=True, help="raw text, cut into tokens as in training")
    add("--second", metavar="TEXT", help="a second text, which BERT reads behind the first")
    add_flags(parser, OF_ATTENTION)
    add("--font", metavar="FILE", help="font with the tokens' characters (one is looked for)")


def add_positions(parser):
    add = parser.add_argument
    add(
        "model",
        metavar="MODEL",
        nargs="?",
        help="run folder of a Transformer, or published BERT, whose positions to draw; without "
        "it, waves of --positions",
    )
    add("--view", choices=VIEWS, default="map", help="(map)")
    add("--positions", choices=KINDS, help="waves, without MODEL (sinusoidal)")
    about = "divide each vector by its length, without MODEL"
    add("--normalize-positions", action="store_true", default=None, help=about)
    add_flags(parser, OF_POSITIONS)


def add_curves(parser):
    add = parser.add_argument
    add("runs", metavar="RUN", nargs="+", help="run folders of any training")
    wanted = "to draw, by name, such as loss (all but those named training/...)"
    add("--over", choices=PLACES, help="ends of epochs, or all steps (epochs, if all have them)")
    add("--figures", nargs="+", metavar="NAME", help=wanted)


def check_picture(output, overwrite):
    """Before anything is computed."""
    path = pathlib.Path(output)
    if path.suffix.lower() != ".png":
        raise ValueError(f"--output must be a file that ends in .png; got {output}.")
    check_output(output, overwrite)


def draw_attention(options):
    from tfreps.inference.load import load

    read = load(options.model).attention(options.text, options.second)
    fonts = plots.fonts_for(read.tokens, options.font)
    if fonts.hint:
        print(fonts.hint.replace("`font`", "--font"), file=sys.stderr)
    which = {"layer": options.layer, "head": options.head}
    return plots.attention_figure(read.probabilities, read.tokens, **which, fonts=fonts)


def draw_positions(options):
    table, title = table_and_title(options)
    if options.view == "map":
        return plots.position_map(table, title)
    if options.view == "curves":
        return plots.position_curves(table, options.dimensions, title)
    return plots.position_surface(table, f"{title}: products", options.first)


def table_and_title(options):
    """What to draw, float32 `[P, D]`, and its name."""
    from tfreps.inference.attention import POSITIONS, position_table
    from tfreps.inference.load import load
    from tfreps.layers.position_embedding import sinusoids

    if options.model is not None:
        for name in "positions", "hidden_dim", "normalize_positions":
            if getattr(options, name) is not None:
                flag = name.replace("_", "-")
                raise ValueError(f"--{flag} is about waves: leave it out, or {options.model}.")
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
            raise ValueError(f"The run has no figures yet: there is no {history}.")
    return plots.learning_curves_figure(histories, options.figures, options.over)


if __name__ == "__main__":
    raise SystemExit(main())
