"""Reads, tokenizes and splits the labelled texts of train-classifier."""

from typing import NamedTuple

from tfreps.cli.labelled_formats import read_files
from tfreps.cli.tagged_files import PARTS
from tfreps.data import LabelledText, stratified_split
from tfreps.runs.bert_loading import least, max_length
from tfreps.text.bert.piece_indexer import piece_texts
from tfreps.text.tokenizers import tokenize_texts

MANY = 10  # so many texts with different labels are a sign that columns are swapped


class TextPart(NamedTuple):
    """One part of the data: its texts, their tokens and where their vectors are stored.

    `num_cut` is the number of texts that were truncated for a BERT model, counted before any texts
    are held out. `stored` has the arguments of `SequenceBatches` that locate the stored vectors.
    """

    texts: list[LabelledText]
    tokens: list[list[str]]
    num_cut: int
    stored: dict

    @property
    def labels(self) -> list[str]:
        return [text.label for text in self.texts]

    def take(self, places):
        """Returns a `TextPart` of the texts at these indices, with their stored vectors."""
        return self._replace(
            texts=[self.texts[i] for i in places],
            tokens=[self.tokens[i] for i in places],
            stored={**self.stored, "vector_numbers": places},
        )


def read_parts(options, bert=None) -> dict[str, TextPart]:
    """Reads all parts of the data; without `--dev`, holds out `--dev-share` of the training texts.

    Raises:
        ValueError: If a file is invalid, `cut_texts` raises an error, or there are too few texts
            to hold out a part of them.
    """
    parts = {part: read_part(options, bert, part) for part in PARTS if getattr(options, part)}
    labels = parts["train"].labels
    if len(set(labels)) == len(labels) >= MANY:
        raise ValueError(
            f"--train has {len(labels)} texts with {len(labels)} different labels, such as "
            f"{labels[0][:60]!r}. Expected several texts of each label. If the labels are in "
            "another column, select the columns with --label-field and --text-field."
        )
    if "dev" not in parts and options.dev_share:
        places = stratified_split(labels, options.dev_share, options.seed, single="keep")
        held_out = dict(zip(("train", "dev"), map(parts["train"].take, places), strict=True))
        if not all(part.texts for part in held_out.values()):
            raise ValueError(
                f"--dev-share {options.dev_share} of {len(labels)} texts leaves no texts for "
                "training or none for evaluation. Give more texts, use --dev, or set --dev-share 0."
            )
        parts = held_out | {part: texts for part, texts in parts.items() if part == "test"}
    return parts


def read_part(options, bert, part):
    """Returns the `TextPart` of one option, such as "dev"."""
    texts = read_files(getattr(options, part), options)
    tokens, num_cut = cut_texts(options, texts, bert)
    numbers = list(range(len(texts)))
    stored = {"vectors": getattr(options, f"{part}_vectors"), "vector_numbers": numbers}
    return TextPart(texts, tokens, num_cut, stored)


def cut_texts(options, texts, bert=None) -> tuple[list[list[str]], int]:
    """Returns the tokens of labelled texts, and how many texts were truncated for a BERT model.

    The tokens for a BERT model are its pieces, enclosed in the start and separator tokens. Texts
    for other encoders are not truncated here.

    Raises:
        ValueError: If a text is too long and `too_long` is `"refuse"` (the message names the file
            and the line), or if `max_length` is larger than the maximum text length of the BERT
            model and its tokenizer, or too small for the special tokens.
    """
    strings, longest = [text.text for text in texts], options.max_length
    if bert is None:
        tokens = tokenize_texts(strings, options.tokens)
    else:
        most = max_length(*bert)
        if most is not None and longest is not None and longest > most:
            raise ValueError(
                f"--max-length must be at most {most}, the maximum text length of the --bert model "
                f"and its tokenizer; got {longest}."
            )
        longest = least(longest, most)
        bert.tokenizer.room(longest)  # raises an error if `longest` is too small
        tokens, _ = piece_texts(strings, bert.tokenizer)
    num_cut = 0
    for text, own in zip(texts, tokens, strict=True):
        if longest is None or len(own) <= longest:
            continue
        if options.too_long == "refuse":
            raise ValueError(
                f"{text.file}, line {text.line}: the text has {len(own):,} tokens; expected at "
                f"most {longest:,}. Shorten it, or use --too-long cut."
            )
        if bert is not None:
            del own[longest - 1 : -1]  # the separator stays
            num_cut += 1
    return tokens, num_cut


def check_labels(label_set, parts, monitor) -> None:
    """Raises ValueError for fewer than two labels, or if the monitor cannot be measured."""
    if len(label_set) < 2:
        raise ValueError(
            f"All texts of --train have the label {label_set.names[0]!r}; expected at least "
            "two labels."
        )
    if monitor != "val_auc":
        return
    if len(label_set) != 2:
        raise ValueError(
            f"--monitor val_auc needs exactly two labels; got {len(label_set)}. Use val_accuracy "
            "or val_loss."
        )
    of_dev = set(parts["dev"].labels) if "dev" in parts else set()
    if len(of_dev) == 1:
        raise ValueError(
            f"--monitor val_auc needs held-out texts of both labels; all held-out texts have the "
            f"label {of_dev.pop()!r}."
        )
