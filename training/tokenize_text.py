"""Tokenizes raw texts: writes one text or sentence per line, with a space between tokens.

tfreps build-vocabulary, pretrain-elmo, evaluate-lm and embed read this format. The option --tokens
of train-tagger and train-classifier selects among the same tokenizers. ELMo reads one sentence per
line; --split-sentences writes the sentences of longer texts in this way.
"""

import importlib.util
import shlex

from tfreps import data
from tfreps._src.cli.command import Command, Group
from tfreps._src.cli.options import Option
from tfreps._src.cli.output_checks import OVERWRITE, check_output
from tfreps._src.data.labeled.labeled_texts import FORMATS
from tfreps._src.data.text_files import read_lines
from tfreps._src.files.atomic_files import written_whole
from tfreps._src.files.progress import make_progress
from tfreps._src.text.tokenizers import TOKENIZERS, blocks, tokenize
from tfreps.training.options import labeled_texts

COMMAND = Command(
    "tokenize",
    __doc__,
    {
        "text": Option(
            str, None, "Files with raw text, or glob patterns. The files may be gzipped. With "
            "--format folders, folders of labeled texts.", many=True, required=True, metavar="FILE",
        )
    },
    [
        Group("input", "Format of the files.", {
            **labeled_texts.OPTIONS,
            "format": Option(
                str, "lines", "Format of the files: one text per line (lines), or one of the "
                "formats of labeled texts of 'tfreps train-classifier' (all others).",
                ("lines", *FORMATS),
            ),
        }),
        Group("tokens", "Tokenizer, and changes to the tokens.", {
            "tokens": Option(
                str, None, "How to split the texts into tokens: at white space (spaces), into "
                "characters without white space (characters) or with it (all_characters), into "
                "words and punctuation marks (words), or as the Penn Treebank does (treebank). "
                "Defaults to characters for text in Chinese and other scripts without spaces "
                "between words, and otherwise to words.",
                TOKENIZERS,
            ),
            "lowercase": Option(bool, False, "Convert the tokens to lower case."),
            "max_length": Option(
                int, None, "Maximum number of tokens in a line of the output; longer lines are "
                "truncated. By default, no line is truncated.", at_least=1,
            ),
            "split_sentences": Option(
                str, None, "Split each text into sentences and write one sentence per line. The "
                "value is the language code of the texts, such as en, de or zh. A language without "
                "rules uses those of a similar language, and an unknown code uses those of "
                "English. Needs the package sentencex. By default, texts are not split.",
                metavar="LANGUAGE",
            ),
        }),
        Group("output", "File to write.", {
            "output": Option(
                str, None, "File to which the tokenized texts are written.", required=True,
                metavar="FILE",
            ),
            "overwrite": OVERWRITE,
        }),
    ],
    (
        "tfreps tokenize reviews/*.txt --output corpus.txt",
        "tfreps tokenize articles.txt --output corpus.txt --tokens treebank --split-sentences en",
        "tfreps tokenize reviews.jsonl --format json --text-field body --output corpus.txt",
    ),
)  # fmt: skip


def main(argv=None):
    return COMMAND.run(write_tokens, argv)


def write_tokens(options):
    check_output(options.output, options.overwrite, options.text)
    texts = read_texts(options)
    kind = "texts" if options.split_sentences is None else "sentences"
    if options.split_sentences is not None:
        texts = sentences(texts, options.split_sentences)
    lines = num_tokens = 0
    with written_whole(options.output) as file:
        for tokens in tokenized(texts, kind, options):
            lines, num_tokens = lines + 1, num_tokens + len(tokens)
            file.write(" ".join(tokens) + "\n")
    print(
        f"Wrote {options.output}: {lines:,} {kind}, {num_tokens:,} tokens.\n"
        f"Next: tfreps build-vocabulary {shlex.quote(str(options.output))} --output FILE."
    )


def read_texts(options):
    """Yields the texts; skips blank lines, but keeps empty texts that have a label."""
    if options.format == "lines":
        for path in data.find_files(options.text):
            yield from (line for line in read_lines(path, options.encoding) if line.strip())
        return
    yield from (example.text for example in labeled_texts.read_files(options.text, options))


def sentences(texts, language):
    """Returns an iterator over the sentences of all texts, as str without blank sentences."""
    if importlib.util.find_spec("sentencex") is None:
        raise ValueError(
            "--split-sentences needs the package sentencex. Run: pip install sentencex."
        )
    import sentencex

    found = (sentence for text in texts for sentence in sentencex.segment(language, text))
    return (sentence for sentence in found if sentence.strip())


def tokenized(texts, kind, options):
    """Yields the list of tokens of each text, and prints the progress.

    `kind` is the word for the texts in the progress line, such as "sentences".
    """
    progress = make_progress(kind)
    for block in blocks(texts):
        if options.tokens is None:
            options.tokens = labeled_texts.default_tokens(block)
        rows = list(cut(block, options))
        progress(len(rows), sum(map(len, rows)))
        yield from rows


def cut(texts, options):
    import tensorflow as tf

    from tfreps._src.text.lower_case import lower_case

    tokens = tokenize(tf.constant(texts), options.tokens)  # [N, T]
    if options.lowercase:
        tokens = lower_case(tokens)
    for row in tokens.numpy().tolist():
        row = [token.decode("utf-8") for token in row if token]
        yield row[: options.max_length]
