"""Compares the vectors of all layers with those of ELMoForManyLangs, and the time they take.

    make peers
    python -m benchmarks.many_langs_parity --peer-python .venv-peers/many_langs/bin/python

The models have random weights, in the published sizes and in tiny ones; the original writes them
(benchmarks/peer_many_langs.py). The 200 sentences are in eight scripts, with unknown characters and
words, empty and long tokens, U+3000 and the names of special entries (many_langs_cases.py). The
numbers in a cell are those of the layers, from the token layer to the last LSTM. "values" are the
largest absolute values. "alone" and "in batches" are the largest differences between tfreps and the
original on single sentences and on batches, where the original starts each batch from zero states.
They must be at most 1e-5. "relative" is the larger of the two, divided by the largest value.
"carried" is the difference between the original with zero states and with the states of the
previous batch, which it uses by default. For models that tfreps does not read, the error must name
the option.

The second table has the seconds of one sentence and of 32 sentences of 20 tokens of Python's
documentation at the published sizes. Calls of tfreps and of the original, without gradients,
alternate; "ratio" is the speed of tfreps divided by that of the original.
"""

import itertools
import json
import pathlib
import statistics
import subprocess
import tempfile

import numpy as np

from benchmarks.in_turns import CHECKOUT, in_turns
from benchmarks.many_langs_cases import CASES, REFUSED, make_sentences, texts, write_case
from benchmarks.rows import chosen_rows, print_table, program_parser

TOLERANCE = 1e-5
TIMED = "published sizes"
SHAPES = (1, 20), (32, 20)


def main(argv=None):
    parser = program_parser(
        "benchmarks.many_langs_parity",
        __doc__,
        peer_python=(..., "Python with the packages of benchmarks/peers/many_langs.txt installed."),
        only=("", "Compare only models whose name contains PART.", {"metavar": "PART"}),
        repeats=(16, "Number of timed calls per shape; 0 measures no time."),
    )
    options = parser.parse_args(argv)
    chosen = chosen_rows(parser, CASES, options.only)
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
            print_table(
                "sentences x tokens | distinct | tfreps | original | ratio",
                times(folder / TIMED, options.repeats, options.peer_python),
            )
    return 1 if max(gaps, default=0.0) > TOLERANCE else 0


def peer(python, task, folder):
    command = [python, "-m", "benchmarks.peer_many_langs", task, str(folder)]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{folder.name} failed in {python}:\n{done.stderr[-3000:]}")


def rows_of(names, folder, python, gaps):
    """Yields a row for each model that tfreps reads; appends its largest difference to `gaps`."""
    sentences = json.loads((folder / "sentences.json").read_text("utf-8"))
    for name in names:
        write_case(name, folder / name)
        peer(python, "vectors", folder / name)
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
    peer(python, "weights", folder / name)
    try:
        tfreps.load(folder / name)
    except ValueError as error:
        if f"`{REFUSED[name]}`" not in str(error):
            raise
        return str(error).removeprefix(f"{folder / name}/")
    raise SystemExit(f"{name}: expected an error that names {REFUSED[name]}; it was loaded.")


def times(folder, repeats, python):
    """Yields the rows of the seconds of tfreps and of the original."""
    import tfreps

    encode = tfreps.load(folder).encode
    for shape in SHAPES:
        batches = texts(*shape)
        distinct = [len({token for text in batch for token in text}) for batch in batches]
        turns = itertools.cycle(batches)
        path = folder / "batches.json"
        path.write_text(json.dumps(batches), "utf-8")
        command = [python, "-m", "benchmarks.peer_many_langs", "time", str(folder), str(path)]
        ours, theirs = in_turns(lambda turns=turns: encode(next(turns)), repeats, command)
        ours, theirs = statistics.median(ours), statistics.median(theirs)
        share = statistics.mean(distinct) / (shape[0] * shape[1])
        seconds = f"{ours:.3f}", f"{theirs:.3f}", f"{theirs / ours:.2f}"
        yield [f"{shape[0]} x {shape[1]}", f"{share:.2f}", *seconds]


if __name__ == "__main__":
    raise SystemExit(main())
