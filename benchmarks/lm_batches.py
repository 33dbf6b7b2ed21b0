"""Measures the speed of `LMBatches`, and whether its memory grows with the corpus.

    python -m benchmarks.lm_batches
    python -m benchmarks.lm_batches --shuffle --megabytes 100

The text consists of the help topics of Python, repeated; about 12 % of its tokens are not in the
vocabulary (`unknown_share`). The batches contain both directions, and characters as rows of a
table. The program prints JSON: `tokens_per_second` is the speed in each direction, as the median
over the passes, `counted_tokens_per_second` is the speed at which the tokens are counted before
training, and `peak_memory_growth_MB` is the growth of the peak memory from a pass over a small text
to the passes over the large one. Run nothing else on the machine.
"""

import collections
import json
import os
import resource
import statistics
import tempfile
import time
from pydoc_data.topics import topics

from benchmarks.rows import program_parser
from tfreps.data import LMBatches
from tfreps.text import Vocabulary


def main(argv=None):
    options = make_parser().parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        result = measure(folder, options)
    print(json.dumps(result, indent=1))
    return 0


def make_parser():
    parser = program_parser("benchmarks.lm_batches", __doc__)
    add = parser.add_argument
    add(
        "--megabytes",
        type=int,
        default=30,
        metavar="N",
        help="Size of the text in MB. Defaults to 30.",
    )
    add(
        "--batch-size",
        type=int,
        default=128,
        metavar="N",
        help="Number of rows in a batch. Defaults to 128.",
    )
    add(
        "--unroll-steps",
        type=int,
        default=20,
        metavar="N",
        help="Number of tokens per row. Defaults to 20.",
    )
    add("--shuffle", action="store_true", help="Shuffle the sentences.")
    add(
        "--repeats", type=int, default=3, metavar="N", help="Number of timed passes. Defaults to 3."
    )
    return parser


def measure(folder, options):
    """Times passes over a large file after a warm-up on a small one."""
    small, vocabulary = write_text(folder, "small.txt", 2)
    large, _ = write_text(folder, "large.txt", options.megabytes)
    one_pass(small, vocabulary, options)
    memory = peak_megabytes()
    rates = [one_pass(large, vocabulary, options) for _ in range(options.repeats)]
    grown = peak_megabytes() - memory
    begin = time.perf_counter()
    counts = make_batches(large, vocabulary, options).count()
    counted = counts.tokens / (time.perf_counter() - begin)
    return {
        "tokens_per_second": round(statistics.median(rates)),
        "tokens_per_second_of_each_pass": [round(rate) for rate in rates],
        "counted_tokens_per_second": round(counted),
        "peak_memory_growth_MB": round(grown, 1),
        "megabytes": options.megabytes,
        "batch_size": options.batch_size,
        "unroll_steps": options.unroll_steps,
        "shuffle": options.shuffle,
        "unknown_share": round(unknown_share(small, vocabulary, options), 4),
    }


def write_text(folder, name, megabytes):
    """Writes the lines of the topics repeatedly, and returns the path and a vocabulary."""
    text = "\n".join(line for topic in topics.values() for line in topic.split("\n") if line)
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        while file.tell() < megabytes * 1e6:
            file.write(text + "\n")
    return path, Vocabulary.from_counts(collections.Counter(text.split()), min_count=3)


def one_pass(path, vocabulary, options):
    """Returns the positions per second in each direction, from the second batch of a pass on."""
    batches = make_batches(path, vocabulary, options)
    iterator = iter(batches.dataset())
    next(iterator)
    begin, number = time.perf_counter(), 0
    for _ in iterator:
        number += 1
    positions = number * options.batch_size * options.unroll_steps
    return positions / (time.perf_counter() - begin)


def make_batches(path, vocabulary, options):
    sizes = (options.batch_size, options.unroll_steps)
    given = {"characters": "table", "shuffle": options.shuffle, "passes": 1}
    return LMBatches(path, vocabulary, *sizes, **given)


def unknown_share(path, vocabulary, options):
    counts = make_batches(path, vocabulary, options).count()
    return counts.unknown_tokens / counts.tokens


def peak_megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    raise SystemExit(main())
