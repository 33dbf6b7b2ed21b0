"""Builds a vocabulary from text files, most frequent tokens first.

The text is UTF-8, with one tokenized sentence per line and Unicode white space between tokens, as
in `str.split`. Files named `*.gz` are decompressed. The first three lines of the vocabulary are
`<S>`, `</S>` and `<UNK>`. The tokens follow in order of decreasing count; tokens with equal counts
are sorted by Unicode code points. The token `<UNK>` in the text counts as an unknown token; `<S>`
and `</S>` must not occur in the text, since tfreps adds them itself.

With --tokens bert-characters, the text is raw, and the vocabulary is that of a BERT model that
reads characters (`tfreps.text.CharacterTokenizer`): ids 0 to 19 are reserved or belong to special
tokens, such as `#NUM#` for numbers; characters and whole Latin words follow. An --output file named
`*.json` contains a JSON object that maps tokens to ids, in the format of aespresso; any other file
has one token per line.
"""

import shlex

from tfreps._src.cli.command import Command, Group
from tfreps._src.cli.options import Option
from tfreps._src.cli.output_checks import OVERWRITE, check_output
from tfreps._src.cli.progress import of_totals
from tfreps._src.data.text_files import find_files, read_blocks
from tfreps._src.files.progress import make_progress
from tfreps._src.text.bert.character_tokens import count_tokens as count_characters
from tfreps._src.text.unspaced import is_unspaced
from tfreps.data import count_tokens
from tfreps.text import CharacterTokenizer, Vocabulary

BOUNDARIES = ("<S>", "</S>")
UNKNOWN = "<UNK>"
COMMAND = Command(
    "build-vocabulary",
    __doc__,
    {
        "files": Option(
            str, None, "Text files in which to count tokens, or glob patterns. The files may be "
            "gzipped.", many=True, required=True, metavar="FILE",
        )
    },
    [
        Group("output", "File to write.", {
            "output": Option(
                str, None, "Vocabulary file to write.", required=True, metavar="FILE"
            ),
            "overwrite": OVERWRITE,
        }),
        Group("tokens", "Tokens to count and to leave out.", {
            "tokens": Option(
                str, "spaces", "How to split the text into tokens: at white space (spaces), or "
                "into characters, with each Latin word and each number as one token, as 'tfreps "
                "pretrain-bert' does by default (bert-characters).",
                ["spaces", "bert-characters"],
            ),
            "cased": Option(
                bool, False, "Keep capital letters instead of converting the text to lower case. "
                "Requires --tokens bert-characters.", needs="tokens=bert-characters",
            ),
            "min_count": Option(
                int, 1, "Leave out tokens that occur fewer than N times.", at_least=1
            ),
            "max_vocabulary": Option(
                int, None, "Maximum size of the vocabulary, including special tokens and, with "
                "--tokens bert-characters, the reserved ids 6 to 19, which no text uses. By "
                "default, there is no limit.",
                at_least=4,
            ),
        }),
    ],
    (
        "tfreps build-vocabulary corpus/train*.txt --output vocabulary.txt",
        "tfreps build-vocabulary train.txt.gz --output vocabulary.txt --min-count 5 "
        "--max-vocabulary 50000",
        "tfreps build-vocabulary corpus/*.txt --tokens bert-characters --output characters.json",
    ),
    flags={"max_size": "--max-vocabulary"},
    tensorflow=False,
)  # fmt: skip


def main(argv=None):
    return COMMAND.run(build, argv)


def build(options):
    check_output(options.output, options.overwrite, options.files)
    progress = of_totals(make_progress("distinct tokens"))
    is_for_elmo = options.tokens == "spaces"
    kind = tokens_of_elmo if is_for_elmo else characters_of_bert
    counts, known, what = kind(options, lambda tokens, distinct: progress(distinct, tokens))
    total, command = sum(counts.values()), "pretrain-elmo" if is_for_elmo else "pretrain-bert"
    print(
        f"Wrote {options.output}: {what}, out of {len(counts):,} distinct tokens.\n"
        f"Text: {total:,} tokens, {100 * known / total:.2f}% of them in the vocabulary.\n"
        f"Next: tfreps {command} --vocabulary {shlex.quote(str(options.output))} --train FILE ... "
        f"(see tfreps {command} --help)."
    )


def tokens_of_elmo(options, progress):
    """Writes a vocabulary of the tokens that white space separates.

    Returns a tuple of three values: a `Counter` of the tokens, the number of occurrences of tokens
    in the vocabulary, and a str that describes the size of the vocabulary.
    """
    counts = checked(count_tokens(options.files, BOUNDARIES, progress), options)
    if is_unspaced(counts):
        print(
            "Note: the text is in a script without spaces between words, so that its tokens are "
            "whole clauses. Split it first: tfreps tokenize FILE --tokens characters --output NEW."
        )
    vocabulary = Vocabulary.from_counts(counts, options.min_count, options.max_vocabulary)
    vocabulary.write(options.output)
    known = sum(count for token, count in counts.items() if token in vocabulary)
    return counts, known - counts[UNKNOWN], f"{len(vocabulary):,} tokens"


def characters_of_bert(options, progress):
    """Writes a vocabulary of characters for BERT.

    Returns a tuple of three values: a `Counter` of the tokens, the number of occurrences of tokens
    in the vocabulary, and a str that describes the size of the vocabulary.
    """
    case = {"lowercase": not options.cased}
    sizes = options.min_count, options.max_vocabulary
    # Raises the errors of invalid options before any text is read.
    CharacterTokenizer.from_counts({}, *sizes, **case)
    blocks = (block.text for path in find_files(options.files) for block in read_blocks(path))
    counts = checked(count_characters(blocks, progress, **case), options)
    tokenizer = CharacterTokenizer.from_counts(counts, *sizes, **case)
    is_json = options.output.endswith(".json")
    (tokenizer.write_dictionary if is_json else tokenizer.write_vocabulary)(options.output)
    ids = len(tokenizer.vocabulary)
    known = sum(counts[token] for token in tokenizer.vocabulary)
    return counts, known, f"{ids:,} ids, {ids - len(tokenizer.special_ids):,} of them for tokens"


def checked(counts, options):
    """Returns `counts` unchanged; raises a ValueError if no tokens were counted."""
    if not counts:
        raise ValueError(f"FILE must contain text; found no tokens in {' '.join(options.files)}.")
    return counts
