"""Tags raw text: prints a tag and its probability for every token.

The input is raw text with one sentence per line, which is tokenized as chosen in training (see
--tokens of tfreps train-tagger). With --input conll, it consists of columns, with one token per
line and blank lines between sentences. JSON input is not supported; in Python,
`tfreps.load(RUN).tag(sentences)` takes lists of tokens.

With --format conll, the output has a line for each token, `token<TAB>tag<TAB>probability`, and a
blank line after each sentence. With --format json, it has one JSON object per sentence:

    {"tokens": ["Ada", "slept"], "tags": ["B-PER", "O"], "confidences": [0.9981, 0.9995],
     "spans": [{"type": "PER", "start": 0, "end": 1, "tokens": ["Ada"]}]}

``tokens``, ``tags`` and ``confidences`` (the probabilities of the tags) have one entry per token.
``spans`` is left out if the model has no tag scheme; ``start`` and ``end`` count tokens from 0,
and ``end`` is exclusive.
"""

import json
import re

from tfreps.cli.options import Option, add_flags, first_line, parse_options
from tfreps.cli.output_checks import check_output
from tfreps.cli.program_help import program_parser
from tfreps.cli.progress import make_progress
from tfreps.cli.short_texts import run_short_text_eagerly
from tfreps.cli.text_streams import is_last, read_texts
from tfreps.data import read_tagged
from tfreps.files.atomic_files import written_whole
from tfreps.inference.load import load_as
from tfreps.inference.text_tagger import TextTagger
from tfreps.runs.run_folder import run_files
from tfreps.text import tags

PROGRAM = "tag"
SENTENCES_AT_ONCE = 1024
LIMITS = {
    "max_line_bytes": Option(
        int, 50_000, "Maximum number of bytes in a line. A longer line is an error.", at_least=1
    ),
}  # fmt: skip
EXAMPLES = (
    "tfreps tag runs/ner text.txt --output tagged.conll",
    "tfreps tag runs/ner text.txt --format json",
    "tfreps tag runs/ner untagged.conll --input conll",
)


def main(argv=None):
    options = parse_options(make_parser(), argv)
    if options.input != "conll" and (options.token_column, options.encoding) != (None, None):
        raise ValueError(
            "--token-column and --encoding have no effect with --input text; they apply to --input "
            "conll."
        )
    check_output(options.output, options.overwrite, [options.text, *run_files(options.run)])
    trained = load_as(TextTagger, options.run)
    write = {"conll": as_columns, "json": as_json_line}[options.format]
    progress = make_progress("sentences")
    with written_whole(options.output) as file:
        for places, sentences, is_all in blocks(options, trained):
            run_short_text_eagerly(trained.model, sentences, is_all)
            answers = trained.tag(sentences, places)
            for tokens, answer in zip(sentences, answers, strict=True):
                file.write(write(tokens, answer, trained.scheme))
            progress(len(sentences), sum(map(len, sentences)))
    return 0


def make_parser():
    parser = program_parser(f"tfreps {PROGRAM}", first_line(__doc__), EXAMPLES)
    add = parser.add_argument
    about = (
        "Run folder of a tagger, or published BERT model with a tag head, by path, name ('tfreps "
        "presets') or hf:// address."
    )
    add("run", help=about)
    about = "File to tag, optionally gzipped; - reads standard input."
    add("text", nargs="?", default="-", help=about)
    group = parser.add_argument_group("input", "Format and limits of the text.")
    add, kinds = group.add_argument, ["text", "conll"]
    about = "Format of the file: one sentence per line (text) or one token per line (conll)."
    add("--input", choices=kinds, default="text", help=about)
    about = (
        "With --input conll: column of the tokens, counted from 0, or from the end if negative. "
        "Defaults to the column of the training data."
    )
    add("--token-column", type=int, metavar="N", help=about)
    about = (
        "With --input conll: encoding of the file. Defaults to the encoding of the training data."
    )
    add("--encoding", help=about)
    add_flags(group, LIMITS)
    add = parser.add_argument_group("output", "File and format of the tags.").add_argument
    add("--output", metavar="FILE", help="File to write. Defaults to standard output.")
    add("--overwrite", action="store_true", help="Replace the output file if it exists.")
    about = "Output format: columns of token, tag and probability (conll), or JSON lines (json)."
    add("--format", choices=["conll", "json"], default="conll", help=about)
    return parser


def blocks(options, trained):
    """Yields `(places, sentences, is_all)` for each group of sentences.

    `places` are their locations in the file, and `sentences` their tokens. `is_all` is True if the
    group is known to be the whole input.
    """
    if options.input == "conll":
        sentences = read_columns(options, trained)
        for start in range(0, len(sentences), SENTENCES_AT_ONCE):
            block = sentences[start : start + SENTENCES_AT_ONCE]
            places = [f"{s.file}, line {s.line}" for s in block]
            yield places, [s.tokens for s in block], len(block) == len(sentences)
        return
    name, line = "standard input" if options.text == "-" else options.text, 1
    for texts in read_texts(options.text, SENTENCES_AT_ONCE, options.max_line_bytes):
        places = [f"{name}, line {number}" for number in range(line, line + len(texts))]
        is_all = line == 1 and is_last(texts, options.text, SENTENCES_AT_ONCE)
        yield places, trained.tokenize(texts), is_all
        line += len(texts)


def read_columns(options, trained):
    """Reads the sentences of a CoNLL file with the options of the run's training data."""
    if options.text == "-":
        raise ValueError(
            "--input conll cannot read standard input. Give a file after the run folder."
        )
    kept, reading = trained.run.options if trained.run else {}, {}
    for name in ("token_column", "encoding"):
        given = getattr(options, name)
        if given is not None or name in kept:
            reading[name] = kept.get(name) if given is None else given
    try:
        return read_tagged(options.text, tag_column=None, **reading)
    except ValueError as error:  # --format of this program is that of the output
        message = re.sub(r"Set `format` to \w+", "Convert the file to columns", str(error))
        raise ValueError(message) from error


def as_columns(tokens, answer, scheme):
    """Returns a line `token tag probability` for each token, and an empty line."""
    rows = zip(tokens, answer.tags, answer.confidences, strict=True)
    return "".join(f"{token}\t{tag}\t{share:.4f}\n" for token, tag, share in rows) + "\n"


def as_json_line(tokens, answer, scheme):
    """Returns a JSON line of tokens, tags, probabilities and, with a tag scheme, spans."""
    line = {"tokens": tokens, "tags": answer.tags}
    line["confidences"] = [round(share, 4) for share in answer.confidences]
    if scheme is not None:
        line["spans"] = [
            {"type": s.type, "start": s.start, "end": s.end, "tokens": tokens[s.start : s.end]}
            for s in tags.spans(answer.tags, scheme)
        ]
    return json.dumps(line, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
