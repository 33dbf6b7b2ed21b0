"""Writes vectors of texts: one per token (biLM), per piece (BERT) or per line (text embedder).

For a text embedder, such as a model of sentence-transformers, the text has one raw text per line,
and the output is a NumPy file (.npy) or an HDF5 file with the data set `vectors`, of shape [lines,
D]. Only --prompt, --dtype, --output and --overwrite apply. For a BERT model without a head, the
HDF5 file is like that of a biLM, with the vectors of the last layer for [CLS], the pieces of each
line, and [SEP].

For a biLM, the text has one tokenized sentence per line; an empty line is a sentence without
tokens. With any other --format, it is read as tfreps train-tagger reads it. The HDF5 file has the
layout of bilm-tf and AllenNLP. The arrays "0", "1", ... each contain the vectors of one sentence,
of shape [layers, tokens, 2P] (--layers all) or [tokens, 2P], where P is the projection dimension;
without a backward direction, P replaces 2P. For a model of ELMoForManyLangs, --layers average, 0, 1
and 2 write the vectors of the original's --output_layer -1, 0, 1 and 2.

The data set `sentence_to_index` maps each sentence to the name of its array, and `token_digests`
identifies the tokens of each sentence. --resume continues after an interruption. Published biLMs
that read token ids need --vocabulary FILE, which contains the token of each id.

The model may also be an export of such a model; --batch-tokens and --cache are then ignored.
"""

import collections
import hashlib
import itertools
import json
import shlex

import numpy as np

from tfreps._src.cli import bilm_options
from tfreps._src.cli.command import Command, Group
from tfreps._src.cli.options import Option
from tfreps._src.cli.output_checks import OVERWRITE, check_overwrite
from tfreps._src.cli.progress import of_totals
from tfreps._src.cli.tagged_files import COLUMNS, TEXT_OR_TAGGED, read_tagged_files
from tfreps._src.data.text_files import stream_lines
from tfreps._src.files.atomic_files import is_stream
from tfreps._src.files.progress import make_progress
from tfreps._src.runs.run_folder import run_files
from tfreps.training.options.engine import ENGINE

# Options that apply only to a biLM, only to vectors of tokens or pieces, and only to texts.
ONLY_BILM = {
    *("format", "token_column", "separator", "layers", "mix", "gamma"),
    *("batch_tokens", "cache", "max_sentence_tokens"),
}
ONLY_TOKENS = {"resume", "forget_sentences"}
ONLY_TEXTS = {"prompt"}
LINES = 1024  # number of lines of raw text that are embedded together
WINDOW = 1 << 16  # number of tokens that are sorted by length and written together


def is_choice(layers):
    """Returns True if `layers` is a valid value of --layers: a known name or a number."""
    return layers in ("all", "top", "average", "mix") or (layers.isdecimal() and layers.isascii())


COMMAND = Command(
    "embed",
    __doc__,
    {
        "model": bilm_options.MODEL._replace(
            about="Model that computes the vectors: a biLM, a BERT model or a text embedder, as "
            "a run folder, an export or a published model, given by path, name (see 'tfreps "
            "presets') or hf:// address.",
        ),
        "text": Option(
            str, None, "Text file with one text or tokenized sentence per line (UTF-8), or a file "
            "in the format of --format. The file may be gzipped.", required=True, metavar="FILE",
        ),
    },
    [
        Group("model", "Published biLM, instead of MODEL.", bilm_options.OPTIONS),
        Group("input", "Format and limits of the text.", {
            "format": TEXT_OR_TAGGED,
            "token_column": COLUMNS["token_column"],
            "separator": COLUMNS["separator"],
            "encoding": COLUMNS["encoding"]._replace(needs="format=conll|conllu|json|python"),
            "prompt": Option(
                str, None, "Name of the prompt that a text embedder puts in front of each line. "
                "Defaults to the model's default prompt.", metavar="NAME",
            ),
            "max_sentence_tokens": Option(
                int, 200_000, "Maximum number of tokens in a sentence. A longer sentence is an "
                "error.", at_least=1,
            ),
        }),
        Group("vectors", "Layers and data type of the vectors.", {
            "layers": Option(
                str, "all", "Vectors to write for each token: those of all layers (all), those of "
                "the top layer (top), those of one layer (its number; 0 is the token layer), their "
                "average over the layers (average), or their weighted sum (mix).",
                must_be=(is_choice, "all, top, average, mix or the number of a layer"),
                metavar="KIND",
            ),
            "mix": Option(
                str, None, "Weight of each layer for --layers mix, starting with the token layer. "
                "A softmax normalizes the weights.", required="layers=mix", needs="layers=mix",
                metavar="W0,W1,...",
            ),
            "gamma": Option(
                float, 1.0, "Scale factor of the weighted sum of --layers mix.", needs="layers=mix",
            ),
            "dtype": Option(
                str, "float32", "Data type of the vectors in the file.", ["float32", "float16"]
            ),
        }),
        Group("output", "File to write.", {
            "output": Option(
                str, None, "HDF5 file to write. With a text embedder, the file can instead be a "
                ".npy file.", required=True, metavar="FILE",
                must_be=(
                    lambda path: not is_stream(path),
                    "a file, since vectors cannot be written to a stream",
                ),
            ),
            "resume": Option(
                bool, False, "Continue an output file that an interrupted command left incomplete.",
                excludes="overwrite",
            ),
            "overwrite": OVERWRITE,
            "forget_sentences": Option(
                bool, False, "Do not write the data set sentence_to_index, which contains the "
                "sentences.",
            ),
        }),
        Group("speed", "Memory, speed and engine.", {
            "engine": ENGINE._replace(excludes="prompt"),
            "batch_tokens": Option(
                int, 4096, "Maximum number of tokens in a batch, padding and sentence boundaries "
                "included.", at_least=1,
            ),
            "cache": Option(
                int, 100_000, "Maximum number of frequent tokens whose token vectors are kept in "
                "memory, so that they are computed only once.", at_least=0,
            ),
        }),
    ],
    (
        "tfreps embed runs/elmo text.txt --output vectors.hdf5",
        "tfreps embed hf://sentence-transformers/all-MiniLM-L6-v2 texts.txt --output vectors.npy",
        "tfreps embed --elmo-config options.json --elmo-weights weights.hdf5 text.txt \\\n"
        "    --output vectors.hdf5",
    ),
    flags=bilm_options.FLAGS,
)  # fmt: skip


def main(argv=None):
    return COMMAND.run(embed, argv)


def embed(options):
    path, how = bilm_options.chosen_model(options)
    if not options.resume:
        check_overwrite(options.output, options.overwrite, inputs(options))

    from tfreps import load
    from tfreps._src.inference.exported import ExportedBert, ExportedBiLM, ExportedEmbedder
    from tfreps._src.inference.text_bert import TextBert
    from tfreps._src.inference.text_bilm import TextBiLM
    from tfreps._src.inference.text_embedder import TextEmbedder

    found = load(path, engine=options.engine, **how)
    writers = {
        embed_tokens: (TextBiLM, ExportedBiLM),
        embed_pieces: (TextBert, ExportedBert),
        embed_lines: (TextEmbedder, ExportedEmbedder),
    }
    write_vectors = next((w for w, kinds in writers.items() if isinstance(found, kinds)), None)
    if write_vectors is None:
        raise ValueError(
            "MODEL must be a biLM, a BERT model without a head, or a text embedder; "
            f"{found.source} contains {found.kind} ({type(found.model).__name__})."
        )
    if write_vectors is not embed_lines and options.output.endswith(".npy"):
        raise ValueError(
            f"--output must be an HDF5 file (.hdf5) for the vectors of {found.source}, "
            f"{found.kind}; got {options.output}. A .npy file has one vector per text. Only a text "
            "embedder, such as a model of sentence-transformers, can write it."
        )
    write_vectors(options, found)


def embed_lines(options, found):
    """Writes the vectors of a text embedder to --output, one vector per line of raw text."""
    from tfreps._src.inference.text_embedder import TextEmbedder
    from tfreps._src.inference.write_vectors import check_suffix, write_vectors

    check_suffix(options.output)
    prompt = {"prompt": options.prompt} if isinstance(found, TextEmbedder) else {}
    check_unused(options, found, {*ONLY_BILM, *ONLY_TOKENS, *({} if prompt else ONLY_TEXTS)})
    count = sum(1 for _ in stream_lines(options.text))
    if not count:
        raise ValueError(f"FILE must contain at least one line; {options.text} has none.")
    progress = make_progress("texts", count)

    def blocks():
        for block in blocks_of_lines(options):
            yield found.embed(block, **prompt).vectors
            progress(len(block))

    shape = count, found.vector_dim
    write_vectors(options.output, blocks(), shape, options.dtype)
    if found.num_truncated:
        print(found.truncation_message())
    print(f"Wrote {options.output}: {shape[0]:,} vectors of {shape[1]:,} numbers.")
    print("Next, to find the texts that are most similar to another:")
    source, path = shlex.quote(str(found.source)), shlex.quote(options.text)
    vectors = f" --vectors {shlex.quote(options.output)}" * options.output.endswith(".npy")
    print(f"  tfreps search {path} --model {source}{vectors} --query TEXT")


def embed_pieces(options, found):
    """Writes the vectors of all pieces of each line, computed by a BERT model, to --output.

    The vectors of [CLS] and [SEP] are included.
    """
    from tfreps._src.inference.embeddings_file import EmbeddingsFile

    check_unused(options, found, {*ONLY_BILM, *ONLY_TEXTS})
    counts, texts, digest = first_pass(options)
    again = {"resume": options.resume, "overwrite": options.overwrite}
    file = EmbeddingsFile(options.output, marker(options, found, digest), **again)
    index, first = {}, 0
    progress = make_progress("texts", texts)
    for number, block in enumerate(blocks_of_lines(options)):
        index.update((text.strip(), str(first + i)) for i, text in enumerate(block))
        if not file.complete and number >= file.windows:
            with file.open_window() as put:
                for i, output in enumerate(found.encode(block)):
                    put(first + i, output.vectors.astype(options.dtype))
        first += len(block)
        progress(len(block))
    if not file.complete:
        file.finish(None if options.forget_sentences else index)
    say_written(options, file, f"{texts:,} texts, {counts.total():,} words")


def blocks_of_lines(options):
    """Yields the lines of the text in lists of up to 1,024."""
    lines = iter(stream_lines(options.text))
    while block := list(itertools.islice(lines, LINES)):
        yield block


def check_unused(options, found, names):
    """Raises a ValueError if an option is given that does not apply to the model.

    `names` are the names of the options that do not apply.
    """
    for group in COMMAND.groups:
        for name, option in group.options.items():
            if name in names and getattr(options, name) != option.default:
                flag = "--" + name.replace("_", "-")
                raise ValueError(
                    f"{flag} does not apply to {found.source}, {found.kind}. Omit {flag}."
                )


def embed_tokens(options, found):
    """Writes the vectors of all tokens of each sentence, computed by a biLM, to --output."""
    from tfreps._src.inference.embeddings_file import EmbeddingsFile
    from tfreps._src.inference.exported import ExportedBiLM
    from tfreps._src.inference.exported_sentences import ExportedSentenceEncoder
    from tfreps._src.models.bilm import BiLM

    check_unused(options, found, ONLY_TEXTS)
    counts, sentences, digest = first_pass(options)
    if isinstance(found, ExportedBiLM):
        layers, most = chosen_layers(options, found.num_layers + 1), found.max_bytes
        encoder = ExportedSentenceEncoder(found, layers, options.dtype)
    else:
        layers = chosen_layers(options, found.bilm.num_layers + 1)
        encoder = found.sentence_encoder(options.batch_tokens, layers, options.dtype)
        reads_characters = isinstance(found.bilm, BiLM) and found.bilm.vocabulary_size is None
        most = found.bilm.max_characters - 2 if reads_characters else None  # two mark the ends
    again = {"resume": options.resume, "overwrite": options.overwrite}
    file = EmbeddingsFile(options.output, marker(options, found, digest), **again)
    if not file.complete:
        write(options, file, encoder, counts)
    say_written(options, file, f"{sentences:,} sentences, {counts.total():,} tokens")
    if most is not None:
        say_cut(counts, most)


def say_cut(counts, most):
    """Prints how many tokens have more than `most` bytes, the maximum that the biLM reads."""
    cut = sum(count for token, count in counts.items() if len(token.encode()) > most)
    if cut:
        print(
            f"{cut:,} of {counts.total():,} tokens have more than {most} bytes, and the biLM reads "
            f"only the first {most}. Split text without spaces, such as Chinese, into tokens first "
            "(see tfreps tokenize --help)."
        )


def say_written(options, file, what):
    size = file.path.stat().st_size / 1e6
    print(f"Wrote {options.output}: {what} ({size:.1f} MB).")
    print("Next, to read the vectors of the first line:")
    print(f'  python -c \'import h5py; print(h5py.File("{options.output}")["0"][()])\'')


def inputs(options):
    """Returns a list of the files that the command reads and must not overwrite."""
    given = [options.text, options.elmo_config, options.elmo_weights, options.vocabulary]
    return [path for path in given if path] + (run_files(options.model) if options.model else [])


def chosen_layers(options, num_layers):
    """Returns the argument `layers` of `SentenceEncoder` that --layers and --mix describe.

    It is a str, an int or, for `mix`, a float32 array of `num_layers` factors.
    """
    if options.layers.isdecimal():
        if int(options.layers) >= num_layers:
            raise ValueError(
                f"--layers must be a number from 0 to {num_layers - 1}, the layers of the biLM; "
                f"got {options.layers}."
            )
        return int(options.layers)
    if options.layers != "mix":
        return options.layers
    try:
        weights = np.array([float(w) for w in options.mix.split(",")])
    except ValueError:
        weights = np.zeros([0])
    if len(weights) != num_layers or not np.isfinite(weights).all():
        raise ValueError(
            f"--mix must be {num_layers} finite numbers, one per layer, the token layer first, as "
            f"in {','.join(['0'] * num_layers)}; got {options.mix!r}."
        )
    exponentials = np.exp(weights - weights.max())
    return (options.gamma * exponentials / exponentials.sum()).astype(np.float32)


def read_sentences(options):
    """Yields the text, the tokens and the line number of each sentence."""
    if options.format != "text":
        for sentence in read_tagged_files(options, options.text, read_tags=False):
            yield " ".join(sentence.tokens), sentence.tokens, sentence.line
        return
    for number, line in enumerate(stream_lines(options.text), 1):
        yield line.strip(), line.split(), number


def first_pass(options):
    """Reads the text once; returns its token counts, its number of sentences and its hash.

    Raises a ValueError if the text is empty or a sentence is too long.
    """
    counts, sentences, digest = collections.Counter(), 0, hashlib.sha256()
    for _, tokens, line in read_sentences(options):
        counts.update(tokens)
        sentences += 1
        if len(tokens) > options.max_sentence_tokens:
            raise ValueError(
                f"{options.text}, line {line}: the sentence has {len(tokens):,} tokens. At "
                f"most {options.max_sentence_tokens:,} are allowed, because a sentence is "
                "processed as a whole. Split the sentence, or raise --max-sentence-tokens."
            )
        digest.update(("\0".join(tokens) + "\n").encode())
    if not sentences:
        raise ValueError(f"FILE must contain at least one sentence; {options.text} has none.")
    return counts, sentences, digest.hexdigest()


def marker(options, found, text_digest):
    """Returns a dict of the options and of hashes of the model and the text.

    With `--resume`, the dict must be equal to the dict that is stored with the unfinished file.
    """
    names = "layers", "mix", "gamma", "dtype", "forget_sentences"
    chosen = {name: getattr(options, name) for name in names}
    chosen["initial_state"] = options.elmo_initial_state or "zero"
    return {**chosen, "model": model_digest(found)[:16], "text": text_digest[:16]}


def model_digest(found):
    """Returns the hash of the weights and the configuration of a model, or of an export's files."""
    digest = hashlib.sha256()
    if hasattr(found, "program"):
        for path in sorted(found.program.folder.rglob("*")):
            digest.update(path.read_bytes() if path.is_file() else b"")
        return digest.hexdigest()
    model = getattr(found, "bilm", None) or found.encoder
    config = {key: value for key, value in model.get_config().items() if key != "name"}
    digest.update(json.dumps(config, sort_keys=True, default=str).encode())
    for weight in model.weights:
        digest.update(np.ascontiguousarray(weight.numpy()))
    return digest.hexdigest()


def write(options, file, encoder, counts):
    from tfreps._src.data.labeled.sentence_vectors import token_digest

    frequent = [token for token, count in counts.most_common(options.cache) if count > 1]
    cached = of_totals(make_progress("token vectors", len(frequent)))
    encoder.cache_tokens(frequent, lambda done: cached(done, 0))
    index, digests, first, skipped = {}, [], 0, 0
    progress = None
    for number, window in enumerate(windows(read_sentences(options))):
        index.update((text, str(first + i)) for i, (text, *_) in enumerate(window))
        tokens = [tokens for _, tokens, _ in window]
        digests += map(token_digest, tokens)
        if number < file.windows:
            skipped += sum(map(len, tokens))
        else:
            left = counts.total() - skipped
            progress = progress or make_progress("sentences", total_tokens=left)
            with file.open_window() as put:
                for i, vectors in encoder.encode(tokens):
                    put(first + i, vectors)
                    progress(1, len(tokens[i]))
        first += len(window)
    file.finish(None if options.forget_sentences else index, digests)


def windows(sentences):
    """Yields lists of consecutive sentences, with about `WINDOW` tokens per list."""
    window, size = [], 0
    for sentence in sentences:
        window.append(sentence)
        size += len(sentence[1]) + 1
        if size >= WINDOW:
            yield window
            window, size = [], 0
    if window:
        yield window
