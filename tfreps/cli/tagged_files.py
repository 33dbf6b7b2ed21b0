"""Options and reading of tagged sentences, which all programs for taggers share."""

from tfreps.cli.messages import say_notes
from tfreps.cli.option_rules import with_flags
from tfreps.cli.options import Option
from tfreps.data import read_tagged
from tfreps.data.labelled.tagged_sentences import FORMATS
from tfreps.text import tags


def column(text):
    """Returns the number of a column, or its name in CoNLL-U."""
    return int(text) if text.removeprefix("-").isdecimal() else text


def separator(text):
    """Returns the separator that a word of the command line stands for."""
    return {"tab": "\t", "\\t": "\t", "space": " "}.get(text, text)


COLUMNS = {
    "token_column": Option(
        column, None, "Column of the tokens, counted from 0, or from the end if negative, or its "
        "name in CoNLL-U. Defaults to the first column, or form in CoNLL-U.",
        needs="format=conll|conllu",
    ),
    "tag_column": Option(
        column, None, "Column of the tags, counted from 0, or from the end if negative, or its "
        "name in CoNLL-U, such as xpos. Defaults to the last column, or upos in CoNLL-U.",
        needs="format=conll|conllu",
    ),
    "separator": Option(
        separator, None, "Separator of the columns: exactly one tab (tab) or one space (space). "
        "Defaults to any number of tabs and spaces.", needs="format=conll",
        must_be=({"\t", " "}.__contains__, "tab or space"),
    ),
    "encoding": Option(str, "utf-8", "Encoding of the files."),
}  # fmt: skip
OPTIONS = {
    "format": Option(
        str, "conll", "Format of the files: columns (conll), CoNLL-U (conllu), JSON lines (json), "
        "or lines of Python dict literals (python).", FORMATS,
    ),
    **COLUMNS,
}  # fmt: skip


def as_in_training(name, needs=()):
    """Returns the option `name` of `COLUMNS` with the value of the training data as default."""
    first = COLUMNS[name].about.partition(". ")[0].removesuffix(".")
    about = f"{first}. Defaults to that of the training data."
    return COLUMNS[name]._replace(default=None, about=about, needs=needs)


def read_tagged_files(options, files, format="format", kept=None, read_tags=True):
    """Reads tagged sentences as the options of a program describe them.

    Args:
        options: namespace with the option `format` and some options of `COLUMNS`.
        files: str, or list of str. Paths or glob patterns.
        format: str. Name of the option that contains the format. Defaults to `"format"`.
        kept: dict of the options of a run. They replace options that are `None`; columns and
            separator only if the run was trained on files of the same format. If `None`, there is
            no run. Defaults to `None`.
        read_tags: bool. Whether to read tags. Defaults to `True`.

    Returns:
        list of `tfreps.data.TaggedSentence`.

    Raises:
        ValueError: If `read_tagged` raises an error. The message names flags instead of arguments.
    """
    kept = kept or {}
    kind = getattr(options, format) or kept.get("format", "conll")
    reading = {name: getattr(options, name, None) for name in COLUMNS}
    same = ["encoding"] if kept.get("format", kind) != kind else COLUMNS
    reading |= {name: kept.get(name) for name in same if reading[name] is None}
    reading["encoding"] = reading["encoding"] or "utf-8"
    try:
        return read_tagged(files, kind, read_tags=read_tags, **reading)
    except ValueError as error:
        message = str(error).replace("`format`", f"`{format}`")
        raise ValueError(with_flags(message, vars(options))) from error


def say_illegal(part, sentences, scheme):
    """Checks tags against their scheme, and prints a warning about transitions that it forbids.

    Args:
        part: str. Option that names the files, such as `"train"`.
        sentences: list of `tfreps.data.TaggedSentence`.
        scheme: str. Tag scheme. `None` allows all tags.

    Returns:
        bool. Whether there is a forbidden transition.

    Raises:
        ValueError: If a tag is not valid in the scheme. The message names the file and the line.
    """
    counts = [tags.check(s.tags, scheme, s.file, s.line) for s in sentences]
    broken = [s for s, count in zip(sentences, counts, strict=True) if count]
    if broken:
        note = (
            f"Warning: --{part} has {sum(counts):,} transitions that are illegal in {scheme!r}, in "
            f"{len(broken):,} of {len(sentences):,} sentences. The first such sentence starts in "
            f"line {broken[0].line} of {broken[0].file}."
        )
        say_notes([note])
    return bool(broken)
