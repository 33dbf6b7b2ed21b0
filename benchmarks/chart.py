"""Draws the first table of benchmarks/RESULTS.md: speeds as multiples of those of other libraries.

    python -m benchmarks.chart

The table has one row for each task. Its columns are the task, the other library, and one for each
kind of CPU. A cell such as `1,054 / 655 (1.60)` contains the speed of tfreps, that of the other
library and the measured ratio; `(1.60; NAME)` names the library of this cell if it is another one.
The chart has a bar for each ratio. The last column, "best engine", is not drawn.
"""

import io
import pathlib
import re

from benchmarks.runner import parse
from tfreps.plots import figure_to_png, new_figure

HERE = pathlib.Path(__file__).resolve().parent
CELL = re.compile(r"([\d,.]+) / ([\d,.]+) \(([\d.]+)(?:; ([^)]+))?\)")
BEST = "best engine"  # column that is not drawn
WIDTH = 800 / 110  # width of the figure in inches: 800 pixels at 110 dots per inch
TICKS = 0.5, 1, 2, 4, 8, 16


def main(argv=None):
    options = parse(
        argv,
        "benchmarks.chart",
        __doc__,
        results=(None, "Page with the table. Defaults to RESULTS.md in the folder of the program."),
        output=(None, "PNG file to write. Defaults to speed_ratios.png in the same folder."),
    )
    text = pathlib.Path(options.results or HERE / "RESULTS.md").read_text(encoding="utf-8")
    save(draw(measurements(text)), options.output or HERE / "speed_ratios.png")
    return 0


def measurements(text):
    """Returns `[(task, library, CPU, speed of tfreps, speed of the library, ratio)]` of a page.

    The ratio is a str with the digits of the page. Speeds are floats.
    """
    lines = re.search(r"^\|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.M)
    if lines is None:
        raise ValueError("The page must contain a table in Markdown.")
    headings, _, *rows = (
        [cell.strip() for cell in line.split("|")[1:-1]] for line in lines[0].splitlines()
    )
    found = []
    for task, library, *cells in rows:
        for cpu, cell in zip(headings[2:], cells, strict=True):
            if not cell or cpu == BEST:
                continue
            parts = CELL.fullmatch(cell)
            if parts is None:
                raise ValueError(f"Cells must look like '1,054 / 655 (1.60)'; got {cell!r}.")
            ours, theirs = (float(part.replace(",", "")) for part in parts.groups()[:2])
            found.append((task, parts[4] or library, cpu, ours, theirs, parts[3]))
    return found


def draw(measured):
    """Returns a figure with a group of bars for each task, and a color for each CPU."""
    cpus, tasks = (list(dict.fromkeys(row[column] for row in measured)) for column in (2, 0))
    figure = new_figure(WIDTH, 0.19 * len(measured) + 0.18 * len(tasks) + 0.9)
    axes = figure.subplots()
    top, places = 0, {}
    for task in tasks:
        rows = [row for row in measured if row[0] == task]
        for number, row in enumerate(rows):
            draw_bar(axes, top + number, row, f"C{cpus.index(row[2])}", library=rows[0][1])
        places[f"{task}\n(compared with {rows[0][1]})"] = top + (len(rows) - 1) / 2
        top += len(rows) + 0.8
    axes.axvline(1, color="black", linewidth=1)
    axes.set(xscale="log", ylim=(top - 0.8, -1))
    axes.set_yticks([*places.values()], [*places], fontsize=8)
    axes.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS], fontsize=8)
    axes.minorticks_off()
    ratios = [float(row[5]) for row in measured]
    axes.set_xlim(min(0.3, min(ratios) / 2), max(16, max(ratios) * 1.5))
    axes.grid(axis="x", linewidth=0.4)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    label = "speed of tfreps divided by that of the other library (above 1: tfreps is faster)"
    axes.set_xlabel(label, fontsize=9)
    figure.legend(loc="outside upper center", ncols=2, fontsize=8, frameon=False)
    return figure


def draw_bar(axes, place, row, color, library):
    """Draws a bar from 1 to a ratio, labeled with the ratio and any library but `library`."""
    _, own_library, cpu, _, _, ratio = row
    value = float(ratio)
    drawn = {bar.get_label() for bar in axes.containers}
    label = None if cpu in drawn else cpu  # the legend lists each CPU only once
    axes.barh(place, value - 1, left=1, height=0.9, color=color, label=label)
    note = ratio if own_library == library else f"{ratio} ({own_library})"
    at = {"xytext": (3, 0)} if value >= 1 else {"xytext": (-3, 0), "ha": "right"}
    at |= {"textcoords": "offset points", "va": "center", "fontsize": 8}
    axes.annotate(note, (value, place), **at)


def save(figure, path):
    """Writes a figure as a PNG file with a palette, which takes a third of the bytes."""
    from PIL import Image

    Image.open(io.BytesIO(figure_to_png(figure))).convert("RGB").quantize(64).save(
        path, optimize=True
    )


if __name__ == "__main__":
    raise SystemExit(main())
