"""Compares the vectors of all layers with those of ELMoForManyLangs, and the time they take.

    make peers
    python -m benchmarks.many_langs_parity --peer-python .venv-peers/many_langs/bin/python

The models have random weights, in the published sizes and in tiny ones; the original writes them
(benchmarks/peers/many_langs.py). The 200 sentences are in eight scripts, with unknown characters
and words, empty and long tokens, U+3000 and the names of special entries (many_langs_cases.py). The
numbers in a cell are those of the layers, from the token layer to the last LSTM. "values" are the
largest absolute values. "alone" and "in batches" are the largest differences between tfreps and the
original on single sentences and on batches, where the original starts each batch from zero states.
They must be at most 1e-5. "relative" is the larger of the two, divided by the largest value.
"carried" is the difference between the original with zero states and with the states of the
previous batch, which it uses by default. For models that tfreps does not read, the error must name
the option.

The last table has the tokens per second of one sentence and of 32 sentences of 20 tokens of
Python's documentation at the published sizes. Calls of tfreps and of the original, without
gradients, alternate; the ratio is the speed of tfreps divided by that of the original.
"""

import itertools
import json
import pathlib
import statistics
import tempfile

import numpy as np

from benchmarks.many_langs_cases import CASES, REFUSED, make_sentences, texts, write_case
from benchmarks.runner import (
    Peer,
    Run,
    call_peer,
    chosen_rows,
    parse,
    print_machine,
    print_results,
    print_table,
)

TOLERANCE = 1e-5
TIMED = "published sizes"
SHAPES = (1, 20), (32, 20)


def main(argv=None):
    options = parse(
        argv,
        "benchmarks.many_langs_parity",
        __doc__,
        peer_python=(..., "Python with the packages of benchmarks/peers/many_langs.txt installed."),
        only=("", "Compare only models whose name contains PART.", {"metavar": "PART"}),
        repeats=(16, "Number of timed calls per shape; 0 measures no time."),
    )
    chosen = chosen_rows(CASES, options.only)
    names = [name for name in chosen if name not in REFUSED]
    gaps = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "sentences.json").write_text(json.dumps(make_sentences()), "utf-8")
        print_table(
            "model | values | alone | in batches | relative | carried",
            rows_of(names, folder, options.peer_python, gaps),
        )
        errors = (
            [name, refusal(name, folder, options.peer_python)] for name in chosen if name in REFUSED
        )
        print_table("model that tfreps does not read | error", errors)
        if options.repeats and TIMED in names:
            print()
            print_machine()
            run = Run(options.repeats, {"peer_python": options.peer_python})
            print_results(speed(folder / TIMED, shape, run) for shape in SHAPES)
    return 1 if max(gaps, default=0.0) > TOLERANCE else 0


def rows_of(names, folder, python, gaps):
    """Yields a row for each model that tfreps reads; appends its largest difference to `gaps`."""
    sentences = json.loads((folder / "sentences.json").read_text("utf-8"))
    for name in names:
        write_case(name, folder / name)
        call_peer(python, "many_langs.vectors", str(folder / name))
        cells, largest = compared(folder / name, sentences)
        gaps.append(largest)
        yield [name, *cells]


def compared(folder, sentences):
    """Returns the cells of a row, and the largest difference from the original."""
    import tfreps

    encode = tfreps.load(folder).encode
    together = np.concatenate(encode(sentences), axis=1)  # [L + 1, tokens, D]
    alone = np.concatenate([encode([each])[0] for each in sentences], axis=1)
    theirs = np.load(folder / "vectors.npz")
    sizes = np.abs(theirs["batches"]).max((1, 2))  # [L + 1]
    gaps = [difference(alone, theirs["alone"]), difference(together, theirs["batches"])]
    carried = difference(theirs["carried"], theirs["batches"])
    relative = np.maximum(*gaps) / sizes
    cells = [", ".join(f"{size:.2g}" for size in sizes)]
    cells += [", ".join(f"{gap:.1e}" for gap in each) for each in (*gaps, relative)]
    cells.append(", ".join(f"{gap:.2g}" for gap in carried))
    return cells, np.max(gaps)


def difference(ours, theirs):
    """Returns the largest absolute difference in each layer, inf where a value is not finite."""
    gaps = np.abs(ours.astype("float64") - theirs).max((1, 2))
    return np.where(np.isfinite(gaps), gaps, np.inf)


def refusal(name, folder, python):
    """Returns the message of the error that tfreps raises for a model."""
    import tfreps

    write_case(name, folder / name)
    call_peer(python, "many_langs.weights", str(folder / name))
    try:
        tfreps.load(folder / name)
    except ValueError as error:
        if f"`{REFUSED[name]}`" not in str(error):
            raise
        return str(error).removeprefix(f"{folder / name}/")
    raise SystemExit(f"{name}: expected an error that names {REFUSED[name]}; it was loaded.")


def speed(folder, shape, run):
    """Returns the row of the speeds of tfreps and of the original."""
    import tfreps

    encode, batches = tfreps.load(folder).encode, texts(*shape)
    number = shape[0] * shape[1]
    distinct = [len({token for text in batch for token in text}) for batch in batches]
    turns, peer = (
        itertools.cycle(batches),
        Peer("peer_python", "many_langs", (str(folder), batches)),
    )
    cells = run.cells(lambda: encode(next(turns)), number, {"original": peer})
    share = round(statistics.mean(distinct) / number, 2)
    return {"sentences x tokens": f"{shape[0]} x {shape[1]}", "distinct": share, **cells}


if __name__ == "__main__":
    raise SystemExit(main())
