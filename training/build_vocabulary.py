"""Builds a vocabulary from text files, most frequent tokens first.

    tfreps build-vocabulary corpus/train*.txt --output vocabulary.txt --min-count 5
    tfreps build-vocabulary corpus/*.txt --tokens bert-characters --output characters.json

The text is UTF-8 without a byte order mark, one tokenised sentence per line, tokens apart by white
space (Unicode's, as `str.split` has it); `*.gz` is unpacked.
The first three lines of the vocabulary are `<S>`, `</S>` and `<UNK>`; then the tokens follow by
falling count, equal counts by Unicode code points. A token `<UNK>` in the text counts as one
outside the vocabulary; `<S>` and `</S>` must not be there, as tfreps adds them itself.

With --tokens bert-characters the text is as it comes, and the vocabulary is that of a BERT on
characters (`tfreps.text.CharacterTokenizer`): special and reserved ids 0 to 19, then characters,
whole Latin words and `#NUM#` for numbers. A file called `*.json` is a dictionary as aespresso
have it, token -> id; any other has a token a line.
"""

import argparse
import sys
import time

from tfreps.cli.options import Option, add_flags, parse_options
from tfreps.cli.output_checks import check_output
from tfreps.data import count_tokens
from tfreps.data.text_files import find_files, read_blocks
from tfreps.text import CharacterTokenizer, Vocabulary
from tfreps.text.bert.character_tokens import count_tokens as count_characters

BOUNDARIES = ("<S>", "</S>")
UNKNOWN = "<UNK>"
TOKENS = "spaces", "bert-characters"
SIZES = {
    "min_count": Option(int, 1, "leave out rarer tokens (1)", at_least=1),
    "max_size": Option(int, None, "most ids, special ones included", at_least=4),
}


def main(argv=None):
    options = parse_options(make_parser(), argv)
    check_output(options.output, options.overwrite, options.files)
    if options.tokens == "bert-characters":
        return build_characters(options)
    if options.cased:
        raise ValueError("--cased is for --tokens bert-characters: others keep capital letters.")
    counts = count_tokens(options.files, refused=BOUNDARIES, progress=make_progress())
    if not counts:
        raise ValueError(f"There is no token in {' '.join(options.files)}: nothing to count.")
    vocabulary = Vocabulary.from_counts(counts, options.min_count, options.max_size)
    vocabulary.write(options.output)
    report(options, counts, vocabulary)
    return 0


def build_characters(options):
    """The dictionary of a BERT on characters."""
    case = {"lowercase": not options.cased}
    sizes = options.min_count, options.max_size
    CharacterTokenizer.from_counts({}, *sizes, **case)  # bad options, before reading
    blocks = (block.text for path in find_files(options.files) for block in read_blocks(path))
    counts = count_characters(blocks, make_progress(), **case)
    if not counts:
        raise ValueError(f"There is no token in {' '.join(options.files)}: nothing to count.")
    tokenizer = CharacterTokenizer.from_counts(counts, *sizes, **case)
    if options.output.endswith(".json"):
        tokenizer.write_dictionary(options.output)
    else:
        tokenizer.write_vocabulary(options.output)
    known = sum(counts[token] for token in tokenizer.vocabulary)
    kept = len(tokenizer.vocabulary) - len(tokenizer.special_ids)
    share = 100 * known / sum(counts.values())
    print(
        f"{options.output}: {len(tokenizer.vocabulary):,} ids, {kept:,} of them for tokens, of "
        f"{len(counts):,} distinct ones\n"
        f"text: {sum(counts.values()):,} tokens, {share:.2f} % of them in the vocabulary\n"
        f"next: tfreps pretrain-bert --vocabulary {options.output} --train FILES ... "
        "(see tfreps pretrain-bert --help)"
    )
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
        "--overwrite", action="store_true", help="replace the output file if it exists"
    )
    parser.add_argument(
        "--tokens", choices=TOKENS, default=TOKENS[0], help="what text is cut into (spaces)"
    )
    parser.add_argument("--cased", action="store_true", help="characters keep capital letters")
    add_flags(parser, SIZES)
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
    print(
        f"next: tfreps pretrain-elmo --vocabulary {options.output} --train FILES ... "
        "(see tfreps pretrain-elmo --help)"
    )
