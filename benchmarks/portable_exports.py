"""Compares exports for ONNX Runtime and LiteRT with the SavedModel, in speed, size and memory.

    python -m benchmarks.portable_exports
    python -m benchmarks.portable_exports --run runs/ner --text "One sentence in its language."

The first table shows milliseconds per batch of taggers with random weights, from ids to tags, spans
and their probabilities: a CRF on embeddings, which spends most of its time on the chain, for the
sizes of the decoding table of benchmarks/RESULTS.md, and a BiLSTM of 200 units with a character
CNN. The formats run in turn. With --run, a second table shows the size of each export of a trained
model, the seconds from the start of a process to the first answer, and the peak of its memory:
run.py of both formats, and `tfreps tag`.
"""

import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np

from benchmarks.runner import alternately, parse, print_machine, print_table, spread

SIZES = (1, 4, 2), (1, 20, 9), (8, 25, 9), (32, 50, 9), (32, 100, 29), (1, 300, 9)
FORMATS = "saved_model", "onnx", "litert"
WORDS = 5000
# Program that starts a command from a small process, because the measured peak memory of a process
# is at least that of the process that started it.
STARTER = """
import resource, subprocess, sys, time
begin = time.perf_counter()
quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
subprocess.run(sys.argv[1:], check=True, **quiet)
seconds = time.perf_counter() - begin
print(seconds, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3)
"""


def main(argv=None):
    options = parse(
        argv,
        "benchmarks.portable_exports",
        __doc__,
        repeats=(30, "Number of calls of each format."),
        run=(None, "Run folder of a tagger."),
        text=("Ada Lovelace lived in London .", "Text that starts are measured with."),
        starts=(5, "Number of processes of each format."),
    )
    print_machine()
    rows = []
    for kind in "CRF", "BiLSTM":
        for size in SIZES:
            calls = functions(tagger(kind, size[2]), *size[:2])
            times = alternately(calls, options.repeats, turns=options.repeats)
            values = [1e3 * statistics.median(times[name]) for name in FORMATS]
            ratios = [f"{values[0] / value:.2f}" for value in values[1:]]
            shape = " x ".join(map(str, size))
            cells = [f"{v:.2f} {spread(times[n])}" for n, v in zip(FORMATS, values, strict=True)]
            rows.append([f"{kind}, {shape}", *cells, *ratios])
            print(*rows[-1], sep=" | ", flush=True)
    print_table(
        "tagger, texts x tokens x tags | SavedModel | ONNX | LiteRT | ratio ONNX | ratio LiteRT",
        rows,
    )
    if options.run:
        table = starts(options.run, options.text, options.starts)
        print_table(" | size, MB | seconds to the first answer | memory, MB", table)
    return 0


def tagger(kind, num_tags):
    """Returns a `TextTagger` with random weights."""
    import keras

    from tfreps.inference import TextTagger
    from tfreps.models import BiLSTMEncoder, Tagger, TokenEmbedder
    from tfreps.text import TokenIndexer

    keras.utils.set_random_seed(0)
    types = [f"X{number}" for number in range(num_tags // 2)]
    tags = ["O", *(f"{letter}-{name}" for name in types for letter in "BI")][:num_tags]
    words = [f"word{number}" for number in range(WORDS)]
    characters = {} if kind == "CRF" else {"characters": "cnn"}
    indexer = TokenIndexer.from_sentences([words], max_characters=50 if characters else None)
    encoder = TokenEmbedder(indexer.vocabulary_size, 50, **characters)
    encoder = encoder if kind == "CRF" else BiLSTMEncoder(encoder, 200)
    return TextTagger(Tagger(encoder, tags, "bio"), indexer)


def functions(trained, num_texts, num_tokens):
    """Returns a function without arguments for each format, which tags a batch of tokens."""
    import tensorflow as tf

    from tfreps._src.inference import run
    from tfreps.export import open_for_export, write_export, write_portable_export

    words = np.random.default_rng(0).integers(0, WORDS, [num_texts, num_tokens])
    tokens = [[f"word{number}" for number in row] for row in words]
    calls = {}
    with tempfile.TemporaryDirectory() as folder:
        written = write_export(open_for_export(trained), f"{folder}/saved_model")
        loaded = tf.saved_model.load(str(written.folder)).signatures["tokens"]
        lengths = tf.fill([num_texts], num_tokens)
        strings = tf.constant(tokens)
        calls["saved_model"] = lambda: loaded(tokens=strings, sequence_len=lengths)["tags"].numpy()
        for name in FORMATS[1:]:
            written = write_portable_export(open_for_export(trained), f"{folder}/{name}", name)
            program = run.Model(written.folder)
            inputs = program.inputs([program.read(" ".join(row))[1] for row in tokens])
            calls[name] = lambda call=program.function, inputs=inputs: call(inputs)
    return calls


def starts(run_folder, text, number):
    """Returns a row for each way to tag a text: its size, seconds and memory."""
    from tfreps.export import open_for_export, write_portable_export

    with tempfile.TemporaryDirectory() as folder:
        rows, commands = {}, {}
        for name in FORMATS[1:]:
            written = write_portable_export(open_for_export(run_folder), f"{folder}/{name}", name)
            commands[f"run.py, {name}"] = [sys.executable, "-I", str(written.folder / "run.py")]
            rows[f"run.py, {name}"] = [f"{written.size / 1e6:.1f}"]
        model = pathlib.Path(run_folder, "model.keras")
        commands["tfreps tag"] = [sys.executable, "-I", "-m", "tfreps", "tag", str(run_folder)]
        rows["tfreps tag"] = [f"{model.stat().st_size / 1e6:.1f}"]
        found = {name: [] for name in commands}
        for _ in range(number):
            for name, command in commands.items():
                found[name].append(measured(command, text))
    for name, runs in found.items():
        seconds, memory = (statistics.median(values) for values in zip(*runs, strict=True))
        rows[name] += [f"{seconds:.2f}", f"{memory:.0f}"]
    return [[name, *values] for name, values in rows.items()]


def measured(command, text):
    """Returns the seconds of a process that reads a text from stdin, and its peak memory in MB."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", STARTER, *command],
        input=f"{text}\n",
        capture_output=True,
        text=True,
        check=True,
    )
    return tuple(map(float, done.stdout.split()))


if __name__ == "__main__":
    raise SystemExit(main())
