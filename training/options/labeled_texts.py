"""Options, reading and checks of labeled texts, which all commands for classifiers share."""

from typing import NamedTuple

from tfreps._src.cli.options import Option
from tfreps._src.cli.tagged_files import PARTS
from tfreps._src.data.labeled.labeled_texts import FORMATS, LabeledText, read_labeled
from tfreps._src.data.labeled.splits import stratified_split
from tfreps._src.data.labeled.text_columns import FIRST_ROWS, QUOTES
from tfreps._src.text.tokenizers import tokenize
from tfreps._src.text.unspaced import is_unspaced

MANY = 10  # at least this many texts without a repeated label mean that columns are swapped
OPTIONS = {
    "format": Option(
        str, "tab", "Format of the files: label<TAB>text (tab), columns with a header (csv, tsv), "
        "JSON lines (json), lines of Python dict literals (python), or a folder per label "
        "(folders).",
        FORMATS,
    ),
    "text_field": Option(
        str, "text", "Name of the column or JSON field that contains the text, or the number of "
        "the column, counted from 0.", metavar="NAME",
    ),
    "label_field": Option(
        str, "label", "Name of the column or JSON field that contains the label, or the number of "
        "the column, counted from 0.", metavar="NAME",
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
    "encoding": Option(
        str, "utf-8", "Character encoding of the files, by its Python name, such as gb18030.",
        metavar="NAME",
    ),
}  # fmt: skip


class TextPart(NamedTuple):
    """Part of the data of a classifier: texts, the tokens of each text, and stored vectors.

    `num_truncated` is the number of texts that were truncated for a BERT model, counted before any
    texts are held out. `stored` is a dict with two arguments of `SequenceBatches`: `vectors`, the
    file of stored vectors or `None`, and `vector_numbers`, the index of each text in this file.
    """

    texts: list[LabeledText]
    tokens: list[list[str]]
    num_truncated: int
    stored: dict

    @property
    def labels(self) -> list[str]:
        return [text.label for text in self.texts]

    def take(self, indices):
        """Returns a `TextPart` that contains only the texts at `indices`, a list of int."""
        return self._replace(
            texts=[self.texts[i] for i in indices],
            tokens=[self.tokens[i] for i in indices],
            stored={**self.stored, "vector_numbers": indices},
        )


def read_files(files: list[str], options, kept=None) -> list[LabeledText]:
    """Reads the labeled texts of files, in the format that the options of a command describe.

    Empty texts are included. `kept` is a dict of the options of a run, or `None`. An option of the
    command that is `None` is replaced with the value in `kept`; except for the encoding, only if
    the run was trained on files of the same format.
    """
    how, kept = {name: getattr(options, name) for name in OPTIONS}, kept or {}
    same = OPTIONS if options.format in (None, kept.get("format")) else ("encoding",)
    how |= {name: kept.get(name) for name in same if how[name] is None}
    given = {name: value for name, value in how.items() if value is not None}
    return read_labeled(files, **given, empty_texts="keep")


def read_parts(options, bert=None) -> dict[str, TextPart]:
    """Reads the training, validation and test texts that the options name.

    Returns a dict from `"train"`, `"validation"` and `"test"` to `TextPart`, without the parts that
    are not given. Without --validation, a fraction of the training texts, --validation-split, is
    held out for validation. `bert` is the BERT model of the classifier, or `None`.
    """
    parts = {}
    for part in PARTS:
        if given := getattr(options, part):
            texts = read_files(given, options)
            if options.tokens is None and bert is None:
                options.tokens = default_tokens(text.text for text in texts)
            stored = {"vectors": getattr(options, f"{part}_vectors")}
            stored["vector_numbers"] = list(range(len(texts)))
            parts[part] = TextPart(texts, *cut_texts(options, texts, bert), stored)
    labels = parts["train"].labels
    if len(set(labels)) == len(labels) >= MANY:
        raise ValueError(
            f"--train has {len(labels)} texts with {len(labels)} different labels, such as "
            f"{labels[0][:60]!r}. Expected several texts of each label. If the labels are in "
            "another column, select the columns with --label-field and --text-field."
        )
    if "validation" not in parts and options.validation_split:
        indices = stratified_split(
            labels, options.validation_split, options.seed, singletons="keep"
        )
        held_out = dict(
            zip(("train", "validation"), map(parts["train"].take, indices), strict=True)
        )
        if not all(part.texts for part in held_out.values()):
            raise ValueError(
                f"--validation-split {options.validation_split} of {len(labels)} texts leaves no "
                "texts for training or none for evaluation. Give more texts, use --validation, or "
                "set --validation-split 0."
            )
        parts = held_out | {part: texts for part, texts in parts.items() if part == "test"}
    return parts


def default_tokens(texts) -> str:
    """Returns the default of --tokens for texts, and prints a note if it is not words."""
    if not is_unspaced(texts):
        return "words"
    print(
        "Tokens: characters, because the texts are in a script without spaces between words. To "
        "choose other tokens, use --tokens."
    )
    return "characters"


def cut_texts(options, texts, bert=None) -> tuple[list[list[str]], int]:
    """Tokenizes labeled texts, and truncates them for a BERT model.

    The tokens for a BERT model are pieces, between the start and separator tokens. Texts for other
    encoders are not truncated here. With --too-long error, a text that is too long raises a
    ValueError. Returns the list of the tokens of each text, and the number of truncated texts.
    """
    from tfreps._src.runs.bert_parts import least, max_length
    from tfreps._src.text.bert.piece_indexer import piece_texts

    strings, longest = [text.text for text in texts], options.max_length
    if bert is None:
        tokens = tokenize(strings, options.tokens)
    else:
        most = max_length(*bert)
        if most is not None and longest is not None and longest > most:
            raise ValueError(
                f"--max-length must be at most {most}, the maximum text length of the --bert model "
                f"and its tokenizer; got {longest}."
            )
        longest = least(longest, most)
        bert.tokenizer.max_pieces(longest)  # raises an error if `longest` is too small
        tokens, _ = piece_texts(strings, bert.tokenizer)
    num_truncated = 0
    for text, own in zip(texts, tokens, strict=True):
        if longest is None or len(own) <= longest:
            continue
        if options.too_long == "error":
            raise ValueError(
                f"{text.file}, line {text.line}: the text has {len(own):,} tokens; expected at "
                f"most {longest:,}. Shorten it, or use --too-long truncate."
            )
        if bert is not None:
            del own[longest - 1 : -1]  # removes the pieces before the final separator token
            num_truncated += 1
    return tokens, num_truncated


def check_labels(label_set, parts, monitor) -> None:
    """Raises a ValueError if there are fewer than two labels or --monitor cannot be measured."""
    if len(label_set) < 2:
        raise ValueError(
            "--train must have texts of at least two labels; all texts have the label "
            f"{label_set.names[0]!r}. Add texts with another label, or select the column of the "
            "labels with --label-field."
        )
    if monitor != "val_auc":
        return
    if len(label_set) != 2:
        raise ValueError(
            f"--monitor val_auc needs exactly two labels; got {len(label_set)}. Use val_accuracy "
            "or val_loss."
        )
    held_out = set(parts["validation"].labels) if "validation" in parts else set()
    if len(held_out) == 1:
        raise ValueError(
            "--monitor val_auc needs validation texts of both labels, but every validation "
            f"text has the label {held_out.pop()!r}. Add texts of the other label, or use "
            "val_accuracy or val_loss."
        )
