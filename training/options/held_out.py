"""Options, reading and checks of held-out data, which evaluate and compare share."""

from tfreps._src.cli.options import Option, as_clause, as_flag
from tfreps._src.cli.tagged_files import as_in_training, read_tagged_files
from tfreps.training.options import labeled_texts

FOR_TAGGERS = {name: as_in_training(name) for name in ("token_column", "tag_column", "separator")}
FIELDS = {
    name: option._replace(
        default=None,
        needs=(),
        about=f"For a classifier: {as_clause(option.about)}. Defaults to "
        "the value used in training if --format is the same.",
    )
    for name, option in labeled_texts.OPTIONS.items()
    if name not in ("format", "encoding")
}
# Options for the files with held-out data, and for their format.
DATA = {
    "data": Option(
        str, None, "Files with tagged sentences or labeled texts, or glob patterns.",
        many=True, required=True, metavar="FILE",
    ),
}  # fmt: skip
FORMAT = {
    "format": Option(
        str, None, "Format of the files: one of the formats of 'tfreps train-tagger' "
        "or 'tfreps train-classifier'. Defaults to the format of the training data.",
        metavar="NAME",
    ),
    "encoding": as_in_training("encoding"),
    **FIELDS,
}  # fmt: skip


def read_examples(options, kept, is_tagger):
    """Returns the list of tagged sentences for a tagger, or of labeled texts for a classifier.

    `kept` is a dict of the options of the run; it is empty for an export.
    """
    if is_tagger:
        return read_tagged_files(options, options.data, kept=kept)
    return labeled_texts.read_files(options.data, options, kept)


def check_fit(options, is_tagger):
    """Raises a ValueError if an option does not apply to the model.

    Some options apply only to the data of taggers, and others only to the data of classifiers.
    """
    kind, other = ("a tagger", "a classifier") if is_tagger else ("a classifier", "a tagger")
    for name in FIELDS if is_tagger else FOR_TAGGERS:
        if getattr(options, name) is not None:
            raise ValueError(
                f"{as_flag(name)} has no effect with {kind}; it applies to {other}. Omit it."
            )
