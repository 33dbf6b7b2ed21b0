"""Runs the S-LSTM study on one domain of fdu_mtl (training/RESULTS.md).

    python -m benchmarks.slstm_study --data PATH/TO/data --runs runs/tables

The program measures the accuracy on the test set and the seconds of the fastest epoch for S-LSTMs,
BiLSTMs, TextCNN and a Transformer. The S-LSTMs differ in the number of steps, the window, the
number of sentence nodes and the boundaries. For three of the models, the program also measures
accuracy and time by text length. It draws two plots. All models start from the word vectors of
benchmarks.pretraining and use the same seed.
"""

import contextlib
import pathlib
import time

from benchmarks.domains import DOMAINS, encoding_of
from benchmarks.runner import parse
from benchmarks.trainings import run_folder, train_once
from tfreps import load
from tfreps.data import read_labeled

COMMON = (
    "train-classifier --train {data}/fdu_mtl/{domain}.task.train --test "
    "{data}/fdu_mtl/{domain}.task.test --encoding {encoding} --lowercase --max-length 256 "
    "--vectors {runs}/fdu_mtl-inputs/vectors.txt --set embedding_learning_rate=3e-4 --patience 3 "
    "--monitor val_auc --set ema_momentum=0.99 --precision bfloat16 "
    "--run {run} --resume "
)
SLSTM = "--encoder slstm --units 150 "
STEPS, WINDOWS = (1, 3, 5, 7, 9), (1, 2, 3)
OUTLINE = [(steps, 1) for steps in STEPS] + [(steps, w) for w in WINDOWS[1:] for steps in (1, 3, 5)]
ROWS = {
    "TextCNN": "--encoder cnn --ngrams 0",
    "BiLSTM": "--encoder bilstm --units 150",
    "BiLSTM, 2 layers": "--encoder bilstm --units 150 --num-layers 2",
    "Transformer, 2 layers": (
        "--encoder transformer --num-layers 2 --set hidden_dim=160 num_heads=4"
    ),
    **{
        f"S-LSTM, {steps} steps, window {window}": (
            f"{SLSTM}--set num_steps={steps} window={window}"
        )
        for steps, window in OUTLINE
    },
    "S-LSTM, 5 steps, no sentence node": (
        f"{SLSTM}--set num_steps=5 num_sentence_nodes=0 --pooling mean"
    ),
    "S-LSTM, 5 steps, 2 sentence nodes": f"{SLSTM}--set num_steps=5 num_sentence_nodes=2",
    "S-LSTM, 5 steps, no boundaries": f"{SLSTM}--set num_steps=5 boundary=zeros",
}
BY_LENGTH = "TextCNN", "BiLSTM", "S-LSTM, 5 steps, window 1"
LENGTHS = (0, 50, 100, 150, 257)


def main(argv=None):
    options = parse(
        argv,
        "benchmarks.slstm_study",
        __doc__,
        data=(..., "Folder of the data sets."),
        runs=(..., "Folder for the run folders. Finished runs in it are not repeated."),
        domain=("camera_photo", "Domain of fdu_mtl.", {"choices": DOMAINS}),
        plots=(None, "Folder to which to write the two plots. Defaults to that of --runs."),
    )
    results = {}
    for name, flags in ROWS.items():
        results[name] = train(options, name, flags)
        print(row(name, *results[name]), flush=True)
    lengths = {name: by_length(options, name) for name in BY_LENGTH}
    print("\n| | accuracy | seconds per epoch |\n|---|---|---|")
    print("\n".join(row(name, *result) for name, result in results.items()))
    print("\n".join(["", *length_table(lengths)]))
    plots = pathlib.Path(options.plots or options.runs)
    draw_steps(results, plots / "slstm_steps.png")
    draw_lengths(lengths, plots / "slstm_lengths.png")
    return 0


def train(options, name, flags):
    """Returns the accuracy on the test set and the seconds of the fastest epoch."""
    run = run_folder(options.runs, "slstm_study", name)
    places = {"data": options.data, "runs": options.runs, "run": run, "domain": options.domain}
    command = COMMON.format(**places, encoding=encoding_of(options.domain)) + flags
    results = train_once(run, command.split())
    return results["test"]["accuracy"], results["training"]["tokens"] / tokens_per_second(run)


def tokens_per_second(run):
    """Returns the training speed of the fastest epoch from the TensorBoard logs."""
    import tensorflow as tf
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(run / "logs" / "train"), size_guidance={"tensors": 0})
    events.Reload()
    found = events.Tensors("training/tokens_per_second")
    return max(float(tf.make_ndarray(event.tensor_proto)) for event in found)


def by_length(options, name):
    """Returns the number of texts, accuracy and milliseconds per text for each range of lengths."""
    model = load(run_folder(options.runs, "slstm_study", name))
    path = f"{options.data}/fdu_mtl/{options.domain}.task.test"
    texts = read_labeled(path, "tab", encoding=encoding_of(options.domain), empty_texts="keep")
    tokens = model.tokenize([text.text for text in texts])
    rows = []
    for shortest, end in zip(LENGTHS, LENGTHS[1:], strict=False):
        places = [i for i, t in enumerate(tokens) if shortest <= min(len(t), LENGTHS[-1] - 1) < end]
        chosen = [tokens[place] for place in places]
        model.classify(chosen)  # the first call traces the model and is not timed
        begin = time.perf_counter()
        answers = model.classify(chosen)
        seconds = time.perf_counter() - begin
        right = [a.label == texts[i].label for a, i in zip(answers, places, strict=True)]
        rows.append((len(places), sum(right) / len(right), 1000 * seconds / len(right)))
    return rows


def row(name, accuracy, seconds):
    return f"| {name} | {accuracy:.4f} | {seconds:.1f} |"


def length_table(lengths):
    """Yields lines of Markdown: accuracy and milliseconds per text for each range of lengths."""
    ranges = [f"{a}-{b - 1} tokens" for a, b in zip(LENGTHS, LENGTHS[1:], strict=False)]
    counts = [str(count) for count, _, _ in next(iter(lengths.values()))]
    yield f"| | {' | '.join(ranges)} |"
    yield "|---|" + "---|" * len(ranges)
    yield f"| texts | {' | '.join(counts)} |"
    for name, rows in lengths.items():
        cells = [f"{accuracy:.3f}, {ms:.1f} ms" for _, accuracy, ms in rows]
        yield f"| {name} | {' | '.join(cells)} |"


def draw_steps(results, path):
    """Draws accuracy and time by number of steps, with a curve for each window."""
    with two_plots(path, "steps", "accuracy", "seconds per epoch") as plots:
        for place, axes in enumerate(plots):
            for window in WINDOWS:
                steps = [s for s, w in OUTLINE if w == window]
                names = [f"S-LSTM, {s} steps, window {window}" for s in steps]
                values = [results[name][place] for name in names]
                axes.plot(steps, values, marker="o", label=f"window {window}")
            for name, style in (("BiLSTM", "--"), ("TextCNN", ":")):
                axes.axhline(results[name][place], linestyle=style, color="gray", label=name)


def draw_lengths(lengths, path):
    """Draws accuracy and time by text length, with a curve for each model."""
    names = [f"{a}-{b - 1}" for a, b in zip(LENGTHS, LENGTHS[1:], strict=False)]
    with two_plots(path, "tokens", "accuracy", "milliseconds per text") as plots:
        for place, axes in enumerate(plots, 1):
            for name, rows in lengths.items():
                axes.plot(names, [values[place] for values in rows], marker="o", label=name)


@contextlib.contextmanager
def two_plots(path, x_label, *titles):
    """Yields two axes in a context, and then writes their figure to a file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.5), layout="constrained")
    plots = figure.subplots(1, 2)
    yield plots
    for axes, title in zip(plots, titles, strict=True):
        axes.set(xlabel=x_label, title=title)
        axes.legend()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    raise SystemExit(main())
