"""Tags raw text: prints a tag and its probability for every token.

The input is raw text with one sentence per line, which is tokenized as chosen in training (see
--tokens of tfreps train-tagger). With any other --input-format, it consists of tokenized sentences
in a format of tfreps train-tagger. In Python, `tfreps.load(MODEL).tag(sentences)` takes lists of
tokens.

With --follow, the tags of a line are written before the next line is read, also through pipes. To
tag a text that grows within a line, use `tfreps.load(MODEL).stream()` in Python.

With --output-format conll, the output has a line for each token, `token<TAB>tag<TAB>probability`,
and a blank line after each sentence. With --output-format json, it has one line per sentence, the
JSON of `tfreps.inference.TaggedText.asdict`:

    {"text": "Ada slept", "tokens": ["Ada", "slept"], "tags": ["B-PER", "O"],
     "confidences": [0.9981, 0.9995],
     "spans": [{"type": "PER", "start": 0, "end": 1, "start_char": 0, "end_char": 3,
                "text": "Ada", "confidence": 0.9976}]}

``text`` is left out if the input is tokenized. ``tokens``, ``tags`` and ``confidences`` (the
probabilities of the tags) have one entry per token.
``spans`` is left out if the model has no tag scheme; ``start`` and ``end`` count tokens from 0,
and ``end`` is exclusive. The ``text`` of a span is the part of the raw text, or the tokens joined
by spaces if the input is tokenized. The ``confidence`` of a span is its posterior probability: the
sum of the probabilities of all tag sequences that contain it.

With --output-format html, the output is one page that shows all texts, in which the spans have
colors and are followed by their types. It contains no scripts and loads no other files. If the
model has no tag scheme, the page shows the tokens with their tags.

Unless the tags are written to the terminal, standard error shows the progress and the time left.
"""

import json

from tfreps._src.cli.command import Command, Group
from tfreps._src.cli.options import Option
from tfreps._src.cli.output_checks import OUTPUT, OVERWRITE, check_output
from tfreps._src.cli.tagged_files import TEXT_OR_TAGGED, as_in_training, read_tagged_files
from tfreps._src.cli.text_streams import (
    count_lines,
    line_limit,
    make_text_progress,
    read_texts,
)
from tfreps._src.files.atomic_files import written_whole
from tfreps._src.inference.span_html import PAGE
from tfreps._src.runs.run_folder import run_files
from tfreps.training.options.engine import ENGINE, needs_tensorflow

SENTENCES_AT_ONCE = 1024
COMMAND = Command(
    "tag",
    __doc__,
    {
        "model": Option(
            str, None, "Tagger: a run folder, an export, or a published BERT model with a tag "
            "head, given by path, name (see 'tfreps presets') or hf:// address.", required=True,
            metavar="MODEL",
        ),
        "text": Option(
            str, "-", "File to tag, optionally gzipped; - reads standard input.",
            metavar="FILE",
        ),
    },
    [
        Group("input", "Format and limits of the text.", {
            "input_format": TEXT_OR_TAGGED,
            "token_column": as_in_training("token_column", needs="input_format=conll|conllu"),
            "separator": as_in_training("separator", needs="input_format=conll"),
            "encoding": as_in_training("encoding", needs="input_format=conll|conllu|json|python"),
            "max_line_bytes": line_limit(50_000),
            "follow": Option(
                bool, False, "Tag each line as soon as it is read, and write its tags at once. "
                "The output of another command can then be tagged while that command runs.",
                needs="input_format=text", excludes="output",
            ),
        }),
        Group("speed", "Engine of the model.", {"engine": ENGINE}),
        Group("output", "File and format of the tags.", {
            "output": OUTPUT,
            "overwrite": OVERWRITE,
            "output_format": Option(
                str, "conll", "Output format: columns of token, tag and probability (conll), "
                "JSON lines (json), or a page for a browser (html).", ["conll", "json", "html"],
            ),
        }),
    ],
    (
        "tfreps tag runs/ner text.txt --output tagged.conll",
        "tfreps tag runs/ner --follow --output-format json",
        "tfreps tag runs/ner text.txt --output-format html --output tagged.html",
    ),
    flags={"format": "--input-format"},
    tensorflow=needs_tensorflow,
)  # fmt: skip


def main(argv=None):
    return COMMAND.run(tag, argv)


def tag(options):
    check_output(options.output, options.overwrite, [options.text, *run_files(options.model)])
    if options.input_format != "text" and options.text == "-":
        raise ValueError(
            f"--input-format {options.input_format} cannot read standard input. Give a file after "
            "MODEL."
        )
    from tfreps._src.loading import load_kind

    trained = load_kind("a tagger", options.model, options.engine)
    write = {"conll": as_columns, "json": as_json_line, "html": as_html}[options.output_format]
    start, end = PAGE if options.output_format == "html" else ("", "")
    total, found = blocks(options, trained)
    progress = make_text_progress("sentences", total, options.output)
    with written_whole(options.output) as file:
        file.write(start)
        for places, texts in found:
            predictions = trained.tag(texts, places)
            file.writelines(map(write, predictions))
            if options.follow:
                file.flush()
            progress(len(texts), sum(len(prediction.tokens) for prediction in predictions))
        file.write(end)


def blocks(options, trained):
    """Returns the number of sentences, and an iterator of tuples `(places, texts)` of blocks.

    The number is `None` if it is unknown. `places` is a list of the locations of the sentences,
    such as `"a.txt, line 3"`. `texts` is a list of raw texts or, for tokenized input, of lists of
    tokens.
    """
    if options.input_format == "text":
        return count_lines(options.text), blocks_of_lines(options)
    kept = trained.run.options if trained.run else {}
    sentences = read_tagged_files(options, options.text, "input_format", kept, read_tags=False)
    starts = range(0, len(sentences), SENTENCES_AT_ONCE)
    found = (sentences[start : start + SENTENCES_AT_ONCE] for start in starts)
    return len(sentences), (
        ([f"{s.file}, line {s.line}" for s in block], [s.tokens for s in block]) for block in found
    )


def blocks_of_lines(options):
    """Yields a tuple `(places, texts)` for each block of lines of raw text."""
    name, line = "standard input" if options.text == "-" else options.text, 1
    at_once = 1 if options.follow else SENTENCES_AT_ONCE
    for texts in read_texts(options.text, at_once, options.max_line_bytes):
        places = [f"{name}, line {number}" for number in range(line, line + len(texts))]
        yield places, texts
        line += len(texts)


def as_columns(prediction):
    """Returns a str with a line `token TAB tag TAB probability` per token, and an empty line."""
    rows = zip(prediction.tokens, prediction.tags, prediction.confidences, strict=True)
    return "".join(f"{token}\t{tag}\t{share:.4f}\n" for token, tag, share in rows) + "\n"


def as_html(prediction):
    """Returns a line of HTML that shows the text with its spans, as in a notebook."""
    return prediction._repr_html_() + "\n"


def as_json_line(prediction):
    """Returns a line of JSON with the text, tokens, tags, probabilities and, if any, spans."""
    return json.dumps(prediction.asdict(digits=4), ensure_ascii=False) + "\n"
