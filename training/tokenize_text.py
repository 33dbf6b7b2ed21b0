"""Cuts raw texts into tokens: one text a line, tokens between single spaces.

    tfreps tokenize reviews/*.txt --output corpus.txt --tokens words --lowercase
    tfreps tokenize train.tsv --format tab --output train.txt --tokens words --lowercase

What `build-vocabulary`, `pretrain-elmo`, `evaluate-lm` and `embed` read. `train-tagger` and
`train-classifier` cut raw texts by the same rules.
"""

import argparse

import tensorflow as tf

from tfreps.cli.options import Option, add_flags, first_line, parse_options
from tfreps.cli.output_checks import check_output
from tfreps.cli.progress import make_progress
from tfreps.data import find_files, read_labelled
from tfreps.data.text_files import read_lines
from tfreps.files.atomic_files import written_whole
from tfreps.text.tokenizers import TOKENIZERS, blocks, tokenize

PROGRAM = "tokenize"
SIZES = {"max_length": Option(int, None, "cut texts after so many tokens", at_least=1)}


def main(argv=None):
    options = parse_options(make_parser(), argv)
    check_output(options.output, options.overwrite, options.text)
    texts = num_tokens = 0
    with written_whole(options.output) as file:
        for tokens in tokenized(read_texts(options), options):
            texts, num_tokens = texts + 1, num_tokens + len(tokens)
            file.write(" ".join(tokens) + "\n")
    print(f"Wrote {options.output}: {texts:,} texts, {num_tokens:,} tokens.")
    return 0


def make_parser():
    parser = argparse.ArgumentParser(prog=f"tfreps {PROGRAM}", description=first_line(__doc__))
    add = parser.add_argument
    add("text", nargs="+", help="files or globs, .gz too")
    add("--output", required=True, help="file to write")
    add("--overwrite", action="store_true", help="replace that file")
    kinds = ["lines", "tab", "csv", "tsv", "json", "python", "folders"]
    add("--format", choices=kinds, default="lines", help="a text a line, or texts with labels")
    add("--text-field", default="text", help="column or JSON field of the text (text)")
    add("--label-field", default="label", help="that of the label (label)")
    add("--encoding", default="utf-8", help="of the files (utf-8)")
    add("--tokens", choices=TOKENIZERS, default="words", help="what a token is (words)")
    add("--lowercase", action="store_true", help="write tokens in lower case")
    add_flags(parser, SIZES)
    return parser


def read_texts(options):
    """The texts one by one; blank lines are passed over, but texts with labels are all kept."""
    if options.format == "lines":
        for path in find_files(options.text):
            yield from (line for line in read_lines(path, options.encoding) if line.strip())
        return
    fields = {"text_field": options.text_field, "label_field": options.label_field}
    fields |= {"encoding": options.encoding, "empty_texts": "keep"}
    yield from (example.text for example in read_labelled(options.text, options.format, **fields))


def tokenized(texts, options):
    """The tokens of each text."""
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
