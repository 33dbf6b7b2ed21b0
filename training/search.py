"""Finds the lines of a file that are most similar to one or more texts, by a text embedder.

The model, such as one of sentence-transformers, computes a vector for each line of FILE and for
each query. The lines are ranked by their similarity with the query: the cosine of the two vectors,
or the similarity that the folder of the model names. Each line is a text, and an empty line is an
empty text. The file is read in blocks, so that it may have any size.

If the same file is searched often, write its vectors with tfreps embed once, and pass them as
--vectors.

With --output-format tab, each result is a line of four columns: the number of the query, the number
of the line in FILE, both from 1, the similarity, and the text. With --output-format json, each
query gets one line:

    {"query": "a silent room", "results": [{"line": 7, "score": 0.8123, "text": "A quiet hotel."}]}
"""

import json

import numpy as np

from tfreps._src.cli.command import Command, Group
from tfreps._src.cli.options import Option
from tfreps._src.cli.output_checks import OUTPUT, OVERWRITE, check_output
from tfreps._src.data.text_files import stream_lines
from tfreps._src.files.atomic_files import written_whole
from tfreps._src.files.progress import make_progress
from tfreps._src.runs.run_folder import run_files
from tfreps.training.options.engine import ENGINE, needs_tensorflow

COMMAND = Command(
    "search",
    __doc__,
    {
        "corpus": Option(
            str, None, "UTF-8 text file with one text per line, optionally gzipped.", required=True,
            metavar="FILE",
        ),
    },
    [
        Group("model", "Text embedder.", {
            "model": Option(
                str, None, "Text embedder, such as a model of sentence-transformers: a folder, an "
                "export or a published model, given by path, name (see 'tfreps presets') or hf:// "
                "address.", required=True, metavar="MODEL",
            ),
            "vectors": Option(
                str, None, "Vectors of the lines of FILE, a .npy file that 'tfreps embed' wrote "
                "with the same model. Without it, the vectors are computed.", metavar="FILE",
            ),
            "engine": ENGINE._replace(excludes=("query_prompt", "corpus_prompt")),
        }),
        Group("queries", "Texts to search for.", {
            "query": Option(
                str, [], "Texts to which the lines of FILE are compared.", many=True,
                metavar="TEXT", excludes="queries",
            ),
            "queries": Option(
                str, None, "File with one query per line (UTF-8), instead of --query.",
                metavar="FILE",
            ),
            "query_prompt": Option(
                str, None, "Name of the prompt that is put in front of each query. Defaults to the "
                "model's default prompt.", metavar="NAME",
            ),
            "corpus_prompt": Option(
                str, None, "Name of the prompt that is put in front of each line of FILE. Defaults "
                "to the model's default prompt.", metavar="NAME", excludes="vectors",
            ),
        }),
        Group("output", "Number and format of the results.", {
            "top": Option(int, 5, "Number of lines to print for each query.", at_least=1),
            "output": OUTPUT,
            "overwrite": OVERWRITE,
            "output_format": Option(
                str, "tab", "Output format: columns of query, line, similarity and text (tab), or "
                "JSON lines (json).", ["tab", "json"],
            ),
        }),
    ],
    (
        "tfreps search texts.txt --query 'a quiet hotel' --model all_minilm_l6_v2",
        "tfreps search texts.txt --queries queries.txt --model all_minilm_l6_v2 --top 10 \\\n"
        "    --output-format json --output found.jsonl",
        "tfreps search texts.txt --query 'a quiet hotel' --model all_minilm_l6_v2 \\\n"
        "    --vectors vectors.npy",
    ),
    flags={"prompt": "--query-prompt or --corpus-prompt"},
    tensorflow=needs_tensorflow,
)  # fmt: skip


def main(argv=None):
    return COMMAND.run(search, argv)


def search(options):
    if not options.query and options.queries is None:
        raise ValueError("--query is missing. Give --query TEXT or --queries FILE.")
    read = [options.corpus, options.queries, options.vectors, *run_files(options.model)]
    check_output(options.output, options.overwrite, [path for path in read if path])
    queries = options.query or [line.strip() for line in stream_lines(options.queries)]
    count = sum(1 for _ in stream_lines(options.corpus))
    for name, number in ("--queries", len(queries)), ("FILE", count):
        if not number:
            raise ValueError(f"{name} must contain at least one line; the file has none.")
    vectors = read_vectors(options, count)

    from tfreps._src.loading import load_kind

    trained = load_kind("a text embedder", options.model, options.engine)
    corpus = counted_lines(options.corpus, count) if vectors is None else vectors
    prompts = options.query_prompt, options.corpus_prompt
    found = trained.search(queries, corpus, options.top, *prompts)
    chosen = {number for results in found for number, _ in results}
    lines = enumerate(stream_lines(options.corpus))
    texts = {number: line.strip() for number, line in lines if number in chosen}
    write = {"tab": as_columns, "json": as_json_line}[options.output_format]
    with written_whole(options.output) as file:
        for number, (query, results) in enumerate(zip(queries, found, strict=True), 1):
            rows = [(place + 1, score, texts[place]) for place, score in results]
            file.write(write(number, query, rows))


def read_vectors(options, count):
    """Returns the array in --vectors, which is mapped from its file, or `None` without --vectors.

    Raises a ValueError if it does not have a row for each of the `count` lines of the corpus.
    """
    if options.vectors is None:
        return None
    try:
        vectors = np.load(options.vectors, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(
            f"--vectors must be a .npy file with an array of numbers; {options.vectors} is not. "
            "Write it with 'tfreps embed'."
        ) from error
    if getattr(vectors, "ndim", None) != 2 or len(vectors) != count:
        raise ValueError(
            f"--vectors must contain one vector for each of the {count:,} lines of "
            f"{options.corpus}; got {options.vectors} of the shape "
            f"{list(getattr(vectors, 'shape', []))}. Write it with 'tfreps embed'."
        )
    return vectors


def counted_lines(path, count):
    """Yields the lines of a file, and shows the progress."""
    progress = make_progress("texts", count)
    for line in stream_lines(path):
        yield line.strip()
        progress(1)


def as_columns(number, query, rows):
    """Returns a line `number TAB line TAB similarity TAB text` for each result of a query."""
    return "".join(f"{number}\t{line}\t{score:.4f}\t{text}\n" for line, score, text in rows)


def as_json_line(number, query, rows):
    """Returns a line of JSON with the query and its results."""
    results = [{"line": line, "score": round(score, 4), "text": text} for line, score, text in rows]
    return json.dumps({"query": query, "results": results}, ensure_ascii=False) + "\n"
