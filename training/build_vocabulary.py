"""Builds a vocabulary from text files, most frequent tokens first.

    tfreps build-vocabulary corpus/train*.txt --output vocabulary.txt --min-count 5

The text is UTF-8 without a byte order mark, one tokenised sentence per line, tokens apart by white
space (Unicode's, as `str.split` has it); `*.gz` is unpacked.
The first three lines of the vocabulary are `<S>`, `</S>` and `<UNK>`; then the tokens follow by
falling count, equal counts by Unicode code points. A token `<UNK>` in the text counts as one
outside the vocabulary; `<S>` and `</S>` must not be there, as tfreps adds them itself.
"""

import argparse
import sys
import time

from tfreps.data import count_tokens
from tfreps.program_options import parse_options
from tfreps.text import Vocabulary

BOUNDARIES = ("<S>", "</S>")
UNKNOWN = "<UNK>"


def main(argv=None):
    options = parse_options(make_parser(), argv)
    Vocabulary.from_counts({}, options.min_count, options.max_size)  # bad options, before reading
    counts = count_tokens(options.files, refused=BOUNDARIES, progress=make_progress())
    if not counts:
        raise ValueError(f"There is no token in {' '.join(options.files)}: nothing to count.")
    vocabulary = Vocabulary.from_counts(counts, options.min_count, options.max_size)
    vocabulary.write(options.output)
    report(options, counts, vocabulary)
    return 0


def make_parser():
    parser = argparse.ArgumentParser(
        prog="tfreps build-vocabulary",
        description="Text files -> vocabulary, most frequent tokens first.",
    )
    parser.add_argument(
        "files", nargs="+", metavar="FILES", help="text files or patterns; *.gz is unpacked"
    )
    parser.add_argument("--output", required=True, metavar="FILE", help="where the list goes")
    parser.add_argument(
        "--min-count", type=int, default=1, metavar="N", help="leave out rarer tokens (1)"
    )
    parser.add_argument(
        "--max-size", type=int, metavar="N", help="most lines, the three specials included"
    )
    return parser


def make_progress():
    """A function that says how far it is on stderr, about once a second."""
    begin = last = time.monotonic()

    def progress(tokens, distinct):
        nonlocal last
        now = time.monotonic()
        if now - last >= 1.0:
            last = now
            rate = tokens / (now - begin)
            line = f"{tokens:,} tokens, {distinct:,} distinct, {rate / 1e6:.1f} million a second"
            print(line, file=sys.stderr)

    return progress


def report(options, counts, vocabulary):
    """What was written, how much of the text it covers, and what comes next."""
    total = sum(counts.values())
    known = sum(count for token, count in counts.items() if token in vocabulary)
    known -= counts[UNKNOWN]
    print(f"{options.output}: {len(vocabulary):,} tokens, of {len(counts):,} distinct ones")
    print(f"text: {total:,} tokens, {100 * known / total:.2f} % of them in the vocabulary")
    if known == 0:
        print("No token of the text is in it: lower --min-count or raise --max-size.")
        return
    print(
        f"next: tfreps pretrain-elmo --vocabulary {options.output} --train FILES ... "
        "(see tfreps pretrain-elmo --help)"
    )
