"""Tokenizes raw texts: writes one text per line, with a space between tokens.

tfreps build-vocabulary, pretrain-elmo, evaluate-lm and embed read this format. The option --tokens
of train-tagger and train-classifier selects among the same tokenizers.
"""

import tensorflow as tf

from tfreps.cli import labelled_formats
from tfreps.cli.option_rules import naming_options
from tfreps.cli.options import Option, add_flags, first_line, parse_options
from tfreps.cli.output_checks import check_output
from tfreps.cli.program_help import program_parser
from tfreps.cli.progress import make_progress
from tfreps.data import find_files
from tfreps.data.labelled.labelled_texts import FORMATS
from tfreps.data.text_files import read_lines
from tfreps.files.atomic_files import written_whole
from tfreps.text.tokenizers import TOKENIZERS, blocks, tokenize

PROGRAM = "tokenize"
INPUT = {
    **labelled_formats.OPTIONS,
    "format": Option(
        str, "lines", "Format of the files: one text per line (lines), or one of the formats of "
        "labelled texts of 'tfreps train-classifier' (all others).", ("lines", *FORMATS),
    ),
}  # fmt: skip
SIZES = {"max_length": Option(int, None, "Truncate texts to this many tokens.", at_least=1)}
EXAMPLES = (
    "tfreps tokenize reviews/*.txt --output corpus.txt",
    "tfreps tokenize train.tsv --format tab --output train.txt --tokens words --lowercase",
    "tfreps tokenize reviews.jsonl --format json --text-field body --output corpus.txt",
)


def main(argv=None):
    options = parse_options(make_parser(), argv)
    check_output(options.output, options.overwrite, options.text)
    texts = num_tokens = 0
    with written_whole(options.output) as file:
        for tokens in tokenized(read_texts(options), options):
            texts, num_tokens = texts + 1, num_tokens + len(tokens)
            file.write(" ".join(tokens) + "\n")
    print(
        f"Wrote {options.output}: {texts:,} texts, {num_tokens:,} tokens.\n"
        f"Next: tfreps build-vocabulary {options.output} --output FILE."
    )
    return 0


def make_parser():
    parser = program_parser(f"tfreps {PROGRAM}", first_line(__doc__), EXAMPLES)
    about = (
        "Files with raw text, optionally gzipped, or glob patterns. With --format folders, folders "
        "of labelled texts."
    )
    parser.add_argument("text", nargs="+", help=about)
    add_flags(parser.add_argument_group("input", "Format of the files."), INPUT)
    group = parser.add_argument_group("tokens", "Tokenizer, and changes to the tokens.")
    add = group.add_argument
    about = (
        "How to split the texts into tokens: at white space (spaces), into characters "
        "(characters), or into words and punctuation marks (words)."
    )
    add("--tokens", choices=TOKENIZERS, default="words", help=about)
    add("--lowercase", action="store_true", help="Write tokens in lower case.")
    add_flags(group, SIZES)
    add = parser.add_argument_group("output", "File to write.").add_argument
    about = "File in which to write the tokenized texts."
    add("--output", metavar="FILE", required=True, help=about)
    add("--overwrite", action="store_true", help="Replace the output file if it exists.")
    return parser


def read_texts(options):
    """Yields the texts; skips blank lines, but keeps empty texts that have a label."""
    if options.format == "lines":
        for path in find_files(options.text):
            with naming_options(options):
                lines = read_lines(path, options.encoding)
            yield from (line for line in lines if line.strip())
        return
    examples = labelled_formats.read_files(options.text, options)
    yield from (example.text for example in examples)


def tokenized(texts, options):
    """Yields the tokens of each text."""
    progress = make_progress("texts")
    for block in blocks(texts):
        rows = list(cut(block, options))
        progress(len(rows), sum(map(len, rows)))
        yield from rows


def cut(texts, options):
    tokens = tokenize(tf.constant(texts), options.tokens)  # [N, T]
    if options.lowercase:
        tokens = tf.strings.lower(tokens, encoding="utf-8")
    for row in tokens.numpy().tolist():
        row = [token.decode("utf-8") for token in row if token]
        yield row[: options.max_length]


if __name__ == "__main__":
    raise SystemExit(main())
