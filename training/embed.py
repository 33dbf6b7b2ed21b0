"""Writes the contextual vectors of every token of a text to an HDF5 file.

    tfreps embed runs/elmo text.txt --output vectors.hdf5
    tfreps embed runs/elmo eng.train --column 1 --layers top --output vectors.hdf5
    tfreps embed --options options.json --weights weights.hdf5 text.txt --output vectors.hdf5

The text, UTF-8 without a byte order mark, has one tokenised sentence per line, or with --column one
token per line and a blank line after each sentence (CoNLL). The file has the layout of bilm-tf and
AllenNLP: sentence "0", "1", ... -> vectors [layers, tokens, 2P] (--layers all) or [tokens, 2P], and
`sentence_to_index`. An empty line is a sentence of no tokens. A run that was killed goes on with
--resume. Published weights that read words instead of characters need --vocabulary FILE, which
holds the token of each id.
"""

import argparse
import collections
import hashlib
import json
import sys
import time

import numpy as np

from tfreps.cli.bilm_options import add_bilm_flags, chosen_model, open_bilm
from tfreps.cli.options import Option, add_flags, parse_options
from tfreps.cli.output_checks import check_overwrite
from tfreps.data import read_blocks
from tfreps.files.atomic_files import is_stream
from tfreps.inference.embeddings_file import EmbeddingsFile
from tfreps.runs.run_folder import run_files

WINDOW = 1 << 16  # tokens that are sorted by length together and kept or lost together
LAYERS = ("all", "top", "average", "mix")
NUMBERS = {
    "gamma": Option(float, 1.0, "factor of the mixed layers, with --layers mix (1)"),
    "column": Option(int, None, "CoNLL text: tokens are in column N, from 1", at_least=1),
    "batch_tokens": Option(int, 4096, "size of a batch, padding counted (4096)", at_least=1),
    "max_sentence_tokens": Option(
        int, 200_000, "a longer sentence ends the program (200000)", at_least=1
    ),
    "cache": Option(int, 100_000, "frequent tokens kept (100000)", at_least=0),
}


def main(argv=None):
    options = parse_options(make_parser(), argv)
    check(options)
    path, how = chosen_model(options)
    if not options.resume:
        check_overwrite(options.output, options.overwrite, inputs(options))
    counts, sentences, digest = first_pass(options)
    found = open_bilm(path, how)
    layers = chosen_layers(options, found.bilm.num_layers + 1)
    encoder = found.sentence_encoder(options.batch_tokens, layers, options.dtype)
    again = {"resume": options.resume, "overwrite": options.overwrite}
    file = EmbeddingsFile(options.output, marker(options, found.bilm, digest), **again)
    if not file.complete:
        write(options, file, encoder, counts)
    print(
        f"Wrote {options.output}: {sentences:,} sentences, {counts.total():,} tokens "
        f"({file.path.stat().st_size / 1e6:.1f} MB). Next, to read the first sentence's vectors:"
    )
    print(f'  python -c \'import h5py; print(h5py.File("{options.output}")["0"][()])\'')
    return 0


def make_parser():
    parser = argparse.ArgumentParser(
        prog="tfreps embed", description="Contextual vectors of every token of a text, as HDF5."
    )
    add = parser.add_argument
    add("model", metavar="MODEL", nargs="?", help="run folder of a biLM")
    add("text", metavar="TEXT", help="UTF-8, one tokenised sentence per line; *.gz is unpacked")
    add("--output", metavar="FILE.hdf5", required=True, help="a new file")
    add_bilm_flags(parser)
    add("--layers", choices=LAYERS, default="all", help="which, or one mix of them (all)")
    add("--mix", metavar="W0,W1,...", help="of --layers mix: weights before the softmax, as Elmo's")
    add("--dtype", choices=["float32", "float16"], default="float32", help="in the file (float32)")
    add_flags(parser, NUMBERS)
    add("--forget-sentences", action="store_true", help="leave out sentence_to_index")
    add("--resume", action="store_true", help="go on where a killed run stopped")
    add("--overwrite", action="store_true", help="replace the output file if it exists")
    return parser


def check(options):
    if is_stream(options.output):
        raise ValueError(f"--output must be a file, for HDF5 is no stream; got {options.output}.")
    if options.resume and options.overwrite:
        raise ValueError("--resume goes on with a file, --overwrite replaces it: give one of them.")
    if (options.mix is None) == (options.layers == "mix"):
        raise ValueError("--mix and --layers mix belong together: give both or neither.")


def inputs(options):
    """The files that are read, and so must not be the output."""
    given = [options.text, options.options, options.weights, options.vocabulary]
    return [path for path in given if path] + (run_files(options.model) if options.model else [])


def chosen_layers(options, num_layers):
    """The `layers` of the encoder: a name, or the factor of each layer, float32 `[L+1]`."""
    if options.layers != "mix":
        return options.layers
    try:
        weights = np.array([float(w) for w in options.mix.split(",")])
    except ValueError:
        weights = np.zeros([0])
    if len(weights) != num_layers or not np.isfinite(weights).all():
        raise ValueError(
            f"--mix needs {num_layers} finite numbers, one per layer, the token layer first, as in "
            f"{','.join(['0'] * num_layers)}; got {options.mix!r}."
        )
    exponentials = np.exp(weights - weights.max())
    return (options.gamma * exponentials / exponentials.sum()).astype(np.float32)


def read_sentences(options):
    """The text as pairs of a sentence and its tokens."""
    if options.column is not None:
        yield from read_conll(options)
        return
    for block in read_blocks(options.text):
        for line in block.text[:-1].split("\n"):
            yield line.strip(), line.split()


def read_conll(options):
    tokens, width = [], None
    for block in read_blocks(options.text):
        for number, line in enumerate(block.text[:-1].split("\n"), block.line):
            columns = line.rstrip("\r").split("\t") if "\t" in line else line.split()
            if not line.strip():
                if tokens:
                    yield " ".join(tokens), tokens
                tokens = []
                continue
            width = width or len(columns)
            if len(columns) != width or width < options.column or not columns[options.column - 1]:
                raise ValueError(
                    f"{options.text}, line {number}: expected {width} columns as in the lines "
                    f"before, at least {options.column}; got {len(columns)}: {line[:60]!r}. "
                    "Comment lines must be removed first."
                )
            tokens.append(columns[options.column - 1])
    if tokens:
        yield " ".join(tokens), tokens


def first_pass(options):
    """Reads all of the text once: token counts, number of sentences, fingerprint."""
    counts, sentences, digest = collections.Counter(), 0, hashlib.sha256()
    for _, tokens in read_sentences(options):
        counts.update(tokens)
        sentences += 1
        if len(tokens) > options.max_sentence_tokens:
            place = "line" if options.column is None else "sentence"
            raise ValueError(
                f"{options.text}, {place} {sentences}: the sentence has {len(tokens):,} tokens, "
                "and all of it is computed at once. Break it into sentences, or raise "
                "--max-sentence-tokens."
            )
        digest.update(("\0".join(tokens) + "\n").encode())
    if not sentences:
        raise ValueError(f"{options.text} is empty: expected at least one sentence.")
    return counts, sentences, digest.hexdigest()


def marker(options, bilm, text_digest):
    """Everything that the vectors in the file depend on."""
    config = {key: value for key, value in bilm.get_config().items() if key != "name"}
    digest = hashlib.sha256(json.dumps(config, sort_keys=True, default=str).encode())
    for weight in bilm.weights:
        digest.update(np.ascontiguousarray(weight.numpy()))
    names = "layers", "mix", "gamma", "column", "state", "dtype", "forget_sentences"
    chosen = {name: getattr(options, name) for name in names}
    chosen["state"] = options.state or "zero"
    return {**chosen, "model": digest.hexdigest()[:16], "text": text_digest[:16]}


def write(options, file, encoder, counts):
    frequent = [token for token, count in counts.most_common(options.cache) if count > 1]
    encoder.keep(frequent, progress("token vectors", len(frequent)))
    index, said = {}, progress("tokens", counts.total())
    first = done = 0
    for number, window in enumerate(windows(read_sentences(options))):
        index.update((text, str(first + i)) for i, (text, _) in enumerate(window))
        tokens = [tokens for _, tokens in window]
        if number < file.windows:
            done += sum(map(len, tokens))
            said(done, skipped=True)
        else:
            with file.window() as put:
                for i, vectors in encoder.encode(tokens):
                    put(first + i, vectors)
                    done += len(tokens[i])
                    said(done)
        first += len(window)
    said(done, last=True)
    file.finish(None if options.forget_sentences else index)


def windows(sentences):
    """Lists of consecutive sentences of some `WINDOW` tokens."""
    window, size = [], 0
    for sentence in sentences:
        window.append(sentence)
        size += len(sentence[1]) + 1
        if size >= WINDOW:
            yield window
            window, size = [], 0
    if window:
        yield window


def progress(what, total):
    """A function that shows how far things are, on standard error, now and then."""
    start = shown = time.monotonic()
    pause = 0.5 if sys.stderr.isatty() else 30
    before = 0

    def say(done, skipped=False, last=False):
        nonlocal shown, before
        before = done if skipped else before
        now = time.monotonic()
        if not last and now - shown < pause:
            return
        shown, rate = now, (done - before) / max(now - start, 1e-9)
        left = (total - done) / rate if rate else 0
        line = (
            f"{done:,} of {total:,} {what}  {rate:,.0f}/s  {left // 60:.0f}:{left % 60:02.0f} left"
        )
        end = "\n" if last or pause > 1 else "\r"
        print(f"{line:70}", end=end, file=sys.stderr, flush=True)

    return say
