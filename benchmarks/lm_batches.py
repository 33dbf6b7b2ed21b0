"""Measures the speed of `LMBatches`, and whether its memory grows with the corpus.

    python -m benchmarks.lm_batches
    python -m benchmarks.lm_batches --shuffle --megabytes 100

The text consists of the help topics of Python, repeated; about 12% of its tokens are not in the
vocabulary (`unknown_share`). The batches contain both directions, and characters as rows of a
table. The program prints JSON: `tokens_per_second` is the speed in each direction, as the median
over the passes, `counted_tokens_per_second` is the speed at which the tokens are counted before
training, and `peak_memory_growth_MB` is the growth of the peak memory from a pass over a small text
to the passes over the large one. Run nothing else on the machine.
"""

import collections
import json
import pathlib
import statistics
import tempfile
import time

from benchmarks.runner import parse, print_machine, spread
from benchmarks.topics_text import lines, peak_megabytes, write_lines
from tfreps.data import LMBatches
from tfreps.text import Vocabulary


def main(argv=None):
    options = parse(
        argv,
        "benchmarks.lm_batches",
        __doc__,
        megabytes=(30, "Size of the text in MB."),
        batch_size=(128, "Number of rows in a batch."),
        unroll_steps=(20, "Number of tokens per row."),
        shuffle=(False, "Shuffle the sentences."),
        repeats=(3, "Number of timed passes."),
    )
    print_machine()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(pathlib.Path(folder), options), indent=1, ensure_ascii=False))
    return 0


def measure(folder, options):
    """Times passes over a large file after a warm-up on a small one."""
    small = write_lines(folder / "small.txt", 2)
    large = write_lines(folder / "large.txt", options.megabytes)
    counts = collections.Counter(token for line in lines() for token in line.split())
    vocabulary = Vocabulary.from_counts(counts, min_count=3)
    one_pass(small, vocabulary, options)
    memory = peak_megabytes()
    rates = [one_pass(large, vocabulary, options) for _ in range(options.repeats)]
    grown = peak_megabytes() - memory
    begin = time.perf_counter()
    counted = make_batches(large, vocabulary, options).count()
    seconds = time.perf_counter() - begin
    return {
        "tokens_per_second": round(statistics.median(rates)),
        "spread": spread(rates),
        "counted_tokens_per_second": round(counted.tokens / seconds),
        "peak_memory_growth_MB": round(grown, 1),
        "unknown_share": round(counted.unknown_tokens / counted.tokens, 4),
        **vars(options),
    }


def one_pass(path, vocabulary, options):
    """Returns the positions per second in each direction, from the second batch of a pass on."""
    iterator = iter(make_batches(path, vocabulary, options).dataset())
    next(iterator)
    begin = time.perf_counter()
    number = sum(1 for _ in iterator)
    positions = number * options.batch_size * options.unroll_steps
    return positions / (time.perf_counter() - begin)


def make_batches(path, vocabulary, options):
    sizes = options.batch_size, options.unroll_steps
    given = {"characters": "table", "shuffle": options.shuffle, "passes": 1}
    return LMBatches(path, vocabulary, *sizes, **given)


if __name__ == "__main__":
    raise SystemExit(main())
