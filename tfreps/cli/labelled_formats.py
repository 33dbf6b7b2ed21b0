"""Options that describe files of labelled texts, and a function that reads such files."""

from tfreps.cli.options import Option
from tfreps.data.labelled.labelled_texts import FORMATS, LabelledText, read_labelled
from tfreps.data.labelled.text_columns import FIRST_ROWS, QUOTES

OPTIONS = {
    "format": Option(
        str, "tab", "Format of the files: label<TAB>text (tab), columns with a header (csv, tsv), "
        "JSON lines (json), lines of Python dict literals (python), or a folder per label "
        "(folders).",
        FORMATS,
    ),
    "text_field": Option(
        str, "text", "Name of the column or JSON field that contains the text, or number of the "
        "column, counted from 0.",
    ),
    "label_field": Option(
        str, "label", "Name of the column or JSON field that contains the label, or number of the "
        "column, counted from 0.",
    ),
    "quotes": Option(
        str, None, "Whether double quotes enclose fields (enclose) or are part of the text (text). "
        "Defaults to enclose for csv, and to text for tab and tsv.",
        QUOTES, needs="format=tab|csv|tsv",
    ),
    "first_row": Option(
        str, None, "Whether the first row is a header or data. Defaults to header for csv and tsv, "
        "and to data for tab.", FIRST_ROWS, needs="format=tab|csv|tsv",
    ),
    "encoding": Option(str, "utf-8", "Encoding of the files."),
}  # fmt: skip


def read_files(files: list[str], options) -> list[LabelledText]:
    """Reads labelled texts, including empty ones, as the options describe them."""
    how = {name: getattr(options, name) for name in OPTIONS}
    return read_labelled(files, **how, empty_texts="keep")
