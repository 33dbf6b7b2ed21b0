"""Draws the packages of tfreps and their imports as an SVG file: `make drawing`."""

import graphlib
import itertools

from architectures import Canvas, in_one_style

WIDTH, HEIGHT, STEP_X, STEP_Y = 2.35, 0.8, 2.6, 1.7
FILLS = {"library": "layer", "training": "head", "serving": "file"}


def packages(modules=None):
    """Returns `{package: packages that it imports}` for the library and the wings.

    Imports inside functions count. A package of the library has its name, such as `layers`, and
    one of a wing the path of its folder. The commands of a wing have the name of the wing.

    Args:
        modules: dict from module names to files. If `None` (the default), all modules.
    """
    from tests.test_imports import COMMANDS, MODULES, import_arrows, module_name

    if modules is None:
        modules = MODULES | {module_name(path): path for path in COMMANDS}
    owner = {}
    for module, path in modules.items():
        folder = path.parts[2:-1] if path.parts[0] == "tfreps" else path.parts[:-1]
        owner[module] = "/".join(folder[: 1 if path.parts[0] == "tfreps" else 2])
    found = {name: set() for name in owner.values() if name}  # single files have no folder
    for module, targets in import_arrows(modules).items():
        if owner[module]:
            found[owner[module]] |= {owner[t] for t in targets} - {owner[module], ""}
    return found


def floors(imports):
    """Returns `{package: floor}`: 0 without imports, otherwise 1 above the highest import."""
    found = {}
    for name in graphlib.TopologicalSorter(imports).static_order():
        found[name] = 1 + max((found[other] for other in imports[name]), default=-1)
    return found


def needed(imports):
    """Returns the imports without those that follow from others: A to C, if A to B and B to C."""
    below = {}
    for name in graphlib.TopologicalSorter(imports).static_order():
        below[name] = imports[name].union(*(below[other] for other in imports[name]))
    return {
        name: {t for t in targets if not any(t in below[other] for other in targets)}
        for name, targets in imports.items()
    }


def draw(*_):
    """Writes `floors.svg` into the folder of the other figures, which git ignores."""
    imports = packages()
    rows, boxes = {}, {}
    for name, floor in sorted(floors(imports).items()):
        rows.setdefault((floor, wing(name)), []).append(name)
    num_floors = 1 + max(floor for floor, _ in rows)
    widths = [max(len(names) for (_, of), names in rows.items() if of == group) for group in FILLS]
    canvas = Canvas(sum(widths) * STEP_X, num_floors * STEP_Y - 0.7)
    left = dict(zip(FILLS, itertools.accumulate([0, *widths]), strict=False))
    for (floor, group), names in rows.items():
        for column, name in enumerate(names, left[group]):
            place = column * STEP_X + 0.1, floor * STEP_Y + 0.1
            text = name.replace("/", "/\n")
            boxes[name] = canvas.box(*place, WIDTH, text, FILLS[group], HEIGHT)
    for name, targets in needed(imports).items():
        for target in sorted(targets):
            canvas.arrow((boxes[name][0], boxes[name][1]), (boxes[target][0], boxes[target][2]))
    for arrow in canvas.axes.texts[len(boxes) :]:
        arrow.set_zorder(0)  # below the boxes that it crosses
    canvas.write("floors")


def wing(name):
    """Returns the wing of a package, or `"library"`."""
    first = name.split("/")[0]
    return first if first in FILLS else "library"


def setup(app):
    app.connect("builder-inited", lambda app: in_one_style(draw))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    in_one_style(draw)
