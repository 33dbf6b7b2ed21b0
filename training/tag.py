"""Tags raw text: a tag and its probability for every token.

    echo "Ada Lovelace lived in London ." | tfreps tag runs/ner
    tfreps tag runs/ner text.txt --output tagged.conll
    tfreps tag runs/ner text.txt --format json
    tfreps tag runs/ner untagged.conll --input conll

Text is cut into tokens as the run was told to (--tokens of train-tagger); one sentence a line.
"""

import argparse
import json

from tfreps.cli.options import Option, add_flags, first_line, parse_options
from tfreps.cli.output_checks import check_output
from tfreps.cli.progress import make_progress
from tfreps.cli.text_streams import read_texts
from tfreps.data import read_tagged
from tfreps.files.atomic_files import written_whole
from tfreps.inference.load import load_as
from tfreps.inference.text_tagger import TextTagger
from tfreps.runs.run_folder import RunFolder, run_files
from tfreps.text import tags

PROGRAM = "tag"
SENTENCES_AT_ONCE = 1024
LIMITS = {
    "max_line_bytes": Option(
        int, 50_000, "bytes of a sentence's line; a longer one ends the program (50000)",
        at_least=1,
    ),
}  # fmt: skip


def main(argv=None):
    options = parse_options(make_parser(), argv)
    if options.input != "conll" and (options.token_column, options.encoding) != (None, None):
        raise ValueError("--token-column and --encoding are for --input conll.")
    check_output(options.output, options.overwrite, [options.text, *run_files(options.run)])
    trained = load_as(TextTagger, options.run)
    write = {"conll": as_columns, "json": as_json_line}[options.format]
    progress = make_progress("sentences")
    with written_whole(options.output) as file:
        for places, sentences in blocks(options, trained):
            answers = trained.tag(sentences, places)
            for tokens, answer in zip(sentences, answers, strict=True):
                file.write(write(tokens, answer, trained.scheme))
            progress(len(sentences), sum(map(len, sentences)))
    return 0


def make_parser():
    parser = argparse.ArgumentParser(prog=f"tfreps {PROGRAM}", description=first_line(__doc__))
    add = parser.add_argument
    add(
        "run",
        help="run folder of a tagger, or published BERT with a head over tags",
    )
    add("text", nargs="?", default="-", help="file, .gz too; without it, lines from stdin")
    add("--output", help="file to write, whole or not at all (stdout)")
    add("--overwrite", action="store_true", help="replace the output file if it exists")
    kinds = ["text", "conll"]
    add("--input", choices=kinds, default="text", help="a sentence a line, or a token (text)")
    add("--token-column", type=int, metavar="N", help="of --input conll (the run's)")
    add("--encoding", help="of --input conll (the run's)")
    kinds = ["conll", "json"]
    add("--format", choices=kinds, default="conll", help="columns, or JSON lines (conll)")
    add_flags(parser, LIMITS)
    return parser


def blocks(options, trained):
    """Where some sentences at a time stand, and their tokens."""
    if options.input == "conll":
        sentences = read_columns(options)
        for start in range(0, len(sentences), SENTENCES_AT_ONCE):
            block = sentences[start : start + SENTENCES_AT_ONCE]
            yield [f"{s.file}, line {s.line}" for s in block], [s.tokens for s in block]
        return
    name, line = "standard input" if options.text == "-" else options.text, 1
    for texts in read_texts(options.text, SENTENCES_AT_ONCE, options.max_line_bytes):
        places = [f"{name}, line {number}" for number in range(line, line + len(texts))]
        yield places, trained.tokenize(texts)
        line += len(texts)


def read_columns(options):
    """The sentences in a file of columns, read as the run's data were."""
    if options.text == "-":
        raise ValueError("--input conll reads a file: give its name behind the run.")
    kept, reading = RunFolder.open(options.run).options, {}
    for name in ("token_column", "encoding"):
        given = getattr(options, name)
        if given is not None or name in kept:
            reading[name] = kept.get(name) if given is None else given
    return read_tagged(options.text, tag_column=None, **reading)


def as_columns(tokens, answer, scheme):
    """`token tag probability` a line, and an empty line behind the sentence."""
    rows = zip(tokens, answer.tags, answer.confidences, strict=True)
    return "".join(f"{token}\t{tag}\t{share:.4f}\n" for token, tag, share in rows) + "\n"


def as_json_line(tokens, answer, scheme):
    """Tokens, tags, probabilities and, with a scheme, spans of tokens."""
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
