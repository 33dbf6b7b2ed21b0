"""Options and reading of tagged sentences, which all commands for taggers share."""

import itertools
import re

from tfreps._src.cli.options import Option
from tfreps._src.data.labeled.tagged_sentences import FORMATS, TaggedSentence, read_tagged


def column(text):
    """Returns the value of an option for a column: an int, or the name of a column in CoNLL-U."""
    return int(text) if text.removeprefix("-").isdecimal() else text


def separator(text):
    """Returns the separator of columns for the value of an option, such as a tab for `tab`."""
    return {"tab": "\t", "\\t": "\t", "space": " "}.get(text, text)


MARKS = frozenset(".,;:!?。，；：！？")  # punctuation marks that raw text attaches to words
NUM_COMPARED = 2000  # number of training sentences whose tokens `check_tokens` compares
# A space between characters of Chinese or Japanese, whose raw text has none.
BETWEEN_CJK = re.compile(
    "(?<=[{0}]) (?=[{0}])".format("\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef")
)
MAX_DIFFERING = 0.05  # share of sentences that may be tokenized differently without a warning
SCHEMES = ["bio", "iob1", "bioes", "bilou", "bmes", "none"]
SAME_LETTERS = {"bio": "iob1", "iob1": "bio"}
PARTS = "train", "validation", "test"
COLUMNS = {
    "token_column": Option(
        column, None, "Number of the column that contains the tokens, counted from 0; negative "
        "numbers count from the last column. In CoNLL-U, the name of the column can be given "
        "instead. Defaults to the first column, or to form in CoNLL-U.",
        needs="format=conll|conllu", metavar="N",
    ),
    "tag_column": Option(
        column, None, "Number of the column that contains the tags, counted from 0; negative "
        "numbers count from the last column. In CoNLL-U, the name of the column, such as xpos, can "
        "be given instead. Defaults to the last column, or to upos in CoNLL-U.",
        needs="format=conll|conllu", metavar="N",
    ),
    "separator": Option(
        separator, None, "Separator of the columns: exactly one tab (tab) or one space (space). "
        "Defaults to any number of tabs and spaces.", needs="format=conll",
        must_be=({"\t", " "}.__contains__, "tab or space"), metavar="{tab,space}",
    ),
    "encoding": Option(
        str, "utf-8", "Character encoding of the files, by its Python name, such as gb18030.",
        metavar="NAME",
    ),
}  # fmt: skip
# Options for the data of train-tagger and train-hmm.
OPTIONS = {
    "train": Option(
        str, None, "Files with tagged sentences, or glob patterns.", many=True, required=True,
        metavar="FILE",
    ),
    "validation": Option(
        str, None, "Files with tagged validation sentences, or glob patterns. The sentences are "
        "used to select the best weights. Without this option, the last weights are saved.",
        many=True, metavar="FILE",
    ),
    "test": Option(
        str, None, "Files with tagged test sentences, or glob patterns. The final metrics are "
        "measured on these sentences.", many=True, metavar="FILE",
    ),
    "format": Option(
        str, "conll", "Format of the files: one token and its tag per line, in columns (conll), "
        "CoNLL-U (conllu), JSON lines (json), or lines of Python dict literals (python).", FORMATS,
    ),
    **COLUMNS,
    "scheme": Option(
        str, None, "Tag scheme, which defines how tags mark spans; none for tags that mark no "
        "spans, such as parts of speech.", SCHEMES, required=True,
    ),
}  # fmt: skip
# Option for the format of the input of tag and embed.
TEXT_OR_TAGGED = Option(
    str, "text", "Format of the file: one sentence per line (text), or one of the formats of "
    "'tfreps train-tagger'; tags in the file are ignored.", ["text", *FORMATS],
)  # fmt: skip


def as_in_training(name: str, needs: str | tuple = ()) -> Option:
    """Returns a copy of the option `name` of `COLUMNS` for a command that applies a trained model.

    By default, the copy has the value that was used in training: its help says so, and its default
    in the table is `None`, which `read_tagged_files` replaces. `needs` are the rules of the copy.
    """
    about = COLUMNS[name].about.partition(" Defaults to ")[0]
    about = f"{about} Defaults to the value used in training."
    return COLUMNS[name]._replace(default=None, about=about, needs=needs)


def read_tagged_files(
    options, files, format="format", kept=None, read_tags=True
) -> list[TaggedSentence]:
    """Reads the tagged sentences of files, in the format that the options of a command describe.

    `format` is the name of the option that contains the format. `kept` is a dict of the options of
    a run, or `None`. An option of the command that is `None` is replaced with the value in `kept`;
    for the columns and the separator, only if the run was trained on files of the same format.
    """
    kept = kept or {}
    kind = getattr(options, format) or kept.get("format", "conll")
    reading = {name: getattr(options, name, None) for name in COLUMNS}
    same = ["encoding"] if kept.get("format", kind) != kind else COLUMNS
    reading |= {name: kept.get(name) for name in same if reading[name] is None}
    reading["encoding"] = reading["encoding"] or "utf-8"
    return read_tagged(files, kind, read_tags=read_tags, **reading)


def read_parts(options) -> dict[str, list[TaggedSentence]]:
    """Reads the tagged sentences of the files in --train, --validation and --test.

    Returns a dict from `"train"`, `"validation"` and `"test"` to lists of sentences. The list of an
    option that is not given is empty.
    """
    given = {part: getattr(options, part) for part in PARTS}
    return {
        part: read_tagged_files(options, files) if files else [] for part, files in given.items()
    }


def check_tokens(sentences, how: str, bert=None, init=None) -> None:
    """Warns if raw text would often be split into tokens that differ from the training data.

    Args:
        sentences: sequence of lists of str. The tokens of the training data. The tokens of the
            first `NUM_COMPARED` sentences are joined by spaces, except between Chinese and Japanese
            characters and for `"all_characters"`, and the resulting text is tokenized again.
        how: str. Tokenization, the value of --tokens. For `"spaces"`, a note is printed if
            punctuation marks are separate tokens in the training data.
        bert: The BERT model, or `None` for other encoders. Defaults to `None`.
        init: str. The value of --init, which determines `how`, or `None`. Defaults to `None`.
    """
    from tfreps._src.text.tokenizers import tokenize
    from tfreps._src.text.unspaced import is_unspaced

    sentences = sentences[:NUM_COMPARED]
    if how == "spaces" and is_unspaced("".join(tokens) for tokens in sentences):
        print(
            "Note: the training data are in a script without spaces between words, but with "
            "--tokens spaces, tfreps tag and exports split text only at white space. If they will "
            "read raw text, use --tokens characters, with single characters as training tokens."
        )
        return
    if how == "spaces":
        with_marks = sum(not MARKS.isdisjoint(tokens) for tokens in sentences)
        if with_marks > MAX_DIFFERING * len(sentences):
            print(
                "Note: punctuation marks are tokens of the training data, but with --tokens "
                "spaces, tfreps tag and exports split text only at white space. If they will read "
                "raw text, use --tokens treebank or words, or characters for Chinese characters."
            )
        return
    method = bert.tokenizer if how == "bert" and bert else how
    if how == "all_characters":
        texts = ["".join(tokens) for tokens in sentences]
    else:
        texts = [BETWEEN_CJK.sub("", " ".join(tokens)) for tokens in sentences]
    found = tokenize(texts, method)
    differing = [pair for pair in zip(sentences, found, strict=True) if pair[0] != pair[1]]
    share = len(differing) / max(1, len(sentences))
    if share <= MAX_DIFFERING:
        return
    ours, theirs = first_difference(*differing[0])
    advice = (
        "Choose another value of --tokens, such as treebank for English newswire, characters for "
        "single Chinese characters, or spaces for text that is already split into tokens."
    )
    if init:
        advice = f"Split the training data in this way, which is that of --init {init}."
    print(
        f"Warning: --tokens {how} does not reproduce the tokens of {share:.0%} of the training "
        f"sentences: {ours!r} becomes {' '.join(theirs)!r}. tfreps tag and exports would split raw "
        f"text in the same way. {advice}"
    )


def first_difference(expected: list[str], found: list[str]) -> tuple[str, list[str]]:
    """Finds the first difference between two lists of tokens of one text.

    Returns the first token in `expected` that differs from the token at the same position in
    `found`, and the list of the tokens in `found` that replace it.
    """
    pairs = itertools.zip_longest(expected, found)
    number = next(n for n, (ours, theirs) in enumerate(pairs) if ours != theirs)
    parts = []
    while number + len(parts) < len(found) and len("".join(parts)) < len(expected[number]):
        parts.append(found[number + len(parts)])
    return expected[number], parts


def check_tags(
    parts: dict[str, list[TaggedSentence]], scheme: str | None, loss_forbids: bool = False
) -> None:
    """Checks that all tags are valid in the scheme, and prints warnings of illegal transitions.

    `parts` maps `"train"`, `"validation"` and `"test"` to tagged sentences. If `loss_forbids` is
    `True`, the warnings add that the loss treats illegal transitions as impossible. Raises a
    ValueError for a tag that is not valid in the scheme.
    """
    from tfreps._src.text.tags import tag_sequences

    for part, sentences in parts.items():
        counts = [tag_sequences.check(s.tags, scheme, s.file, s.line) for s in sentences]
        broken = [s for s, count in zip(sentences, counts, strict=True) if count]
        if not broken:
            continue
        print(
            f"Warning: --{part} has {sum(counts):,} transitions that are illegal in {scheme!r}, in "
            f"{len(broken):,} of {len(sentences):,} sentences. The first such sentence starts in "
            f"line {broken[0].line} of {broken[0].file}."
        )
        other = SAME_LETTERS.get(scheme)
        if other and not any(tag_sequences.illegal_transitions(s.tags, other) for s in sentences):
            print(f"All are legal in {other!r}. If that is their scheme, give --scheme {other}.")
        if loss_forbids and part != "test":
            print(
                "The loss treats them as impossible, and the reported loss leaves out these "
                "sentences. Correct the tags, or use --constrain decode."
            )
