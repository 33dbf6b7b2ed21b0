"""read_parts: the labelled texts of train-classifier, cut into tokens, some of them held out."""

from typing import NamedTuple

from tfreps.data import LabelledText, read_labelled, stratified_split
from tfreps.runs.bert_loading import least, max_length
from tfreps.text.bert.piece_indexer import piece_texts
from tfreps.text.tokenizers import tokenize_texts


class TextPart(NamedTuple):
    """One part of the data: its texts, their tokens, and where their vectors are.

    `num_cut` is how many texts of the file were cut to `--max-length` when it was read; `stored`
    are options of `SequenceBatches`.
    """

    texts: list[LabelledText]
    tokens: list[list[str]]
    num_cut: int
    stored: dict

    @property
    def labels(self):
        """The labels of the texts."""
        return [text.label for text in self.texts]

    def take(self, places):
        """Some of the texts; their vectors keep their numbers."""
        return self._replace(
            texts=[self.texts[i] for i in places],
            tokens=[self.tokens[i] for i in places],
            stored={**self.stored, "vector_numbers": places},
        )


def read_parts(options, bert=None):
    """Reads all parts of the data; without `--dev` some of the training texts are held out.

    Args:
        options: namespace with the options of `train-classifier`.
        bert: what `tfreps.cli.input_options.read_bert` returned.

    Returns:
        dict from "train", "dev" and "test", as far as there are such texts, to a `TextPart`.

    Raises:
        ValueError: for what is wrong in a file; too few texts to hold some out.
    """
    data = {part: read_part(options, bert, part) for part in ("train", "dev", "test")}
    if data["dev"] is None and options.dev_share:
        labels = data["train"].labels
        places = stratified_split(labels, options.dev_share, options.seed, single="keep")
        data["train"], data["dev"] = (data["train"].take(part) for part in places)
        if not (data["train"].texts and data["dev"].texts):
            raise ValueError(
                f"--dev-share {options.dev_share} of {len(labels)} texts leaves none to train or "
                "to measure on: give more texts, or --dev, or --dev-share 0."
            )
    return {part: texts for part, texts in data.items() if texts is not None}


def read_part(options, bert, part):
    """The `TextPart` of one option, such as "dev"; None where it was not given."""
    files = getattr(options, part)
    if not files:
        return None
    fields = {"text_field": options.text_field, "label_field": options.label_field}
    texts = read_labelled(
        files, options.format, encoding=options.encoding, empty_texts="keep", **fields
    )
    tokens, num_cut = cut_texts(options, texts, bert)
    numbers = list(range(len(texts)))
    stored = {"vectors": getattr(options, f"{part}_vectors"), "vector_numbers": numbers}
    return TextPart(texts, tokens, num_cut, stored)


def cut_texts(options, texts, bert=None):
    """The tokens of labelled texts; what is too long is refused, or of a BERT's texts cut.

    Args:
        options: namespace with `tokens`, `max_length` and `too_long` of `train-classifier`.
        texts: list of `tfreps.data.LabelledText`.
        bert: what `tfreps.cli.input_options.read_bert` returned.

    Returns:
        the lists of tokens, of a BERT the pieces between start and separator; and how many were
        cut here.

    Raises:
        ValueError: a text is too long, with file and line.
    """
    strings, longest = [text.text for text in texts], options.max_length
    if bert is None:
        tokens = tokenize_texts(strings, options.tokens)
    else:
        most = max_length(*bert)
        if most is not None and longest is not None and longest > most:
            raise ValueError(f"--max-length must be at most {most}, as of --bert; got {longest}.")
        longest = least(longest, most)
        bert.tokenizer.room(longest)  # checks it
        tokens, _ = piece_texts(strings, bert.tokenizer)
    num_cut = 0
    for text, own in zip(texts, tokens, strict=True):
        if longest is None or len(own) <= longest:
            continue
        if options.too_long == "refuse":
            raise ValueError(
                f"{text.file}, line {text.line}: the text has {len(own):,} tokens, and there may "
                f"be {longest:,}. Shorten it, or use --too-long cut."
            )
        if bert is not None:
            del own[longest - 1 : -1]  # the separator stays
            num_cut += 1
    return tokens, num_cut


def check_labels(label_set, data, monitor):
    """Checks that there are labels to tell apart, and two of them for an area under the curve.

    Args:
        label_set: `tfreps.text.TagSet` of the labels of the training texts.
        data: what `read_parts` returned.
        monitor: str. The metric of the best weights.

    Raises:
        ValueError: they are too few, or not two, or one is missing among those held out.
    """
    if len(label_set) < 2:
        raise ValueError(
            f"All texts of --train have the label {label_set.names[0]!r}: there is nothing to "
            "tell apart."
        )
    if monitor != "val_auc":
        return
    if len(label_set) != 2:
        raise ValueError(f"--monitor val_auc is for two labels; the texts have {len(label_set)}.")
    of_dev = set(data["dev"].labels) if "dev" in data else set()
    if len(of_dev) == 1:
        raise ValueError(
            f"--monitor val_auc needs texts of both labels to measure on; those held out are all "
            f"{of_dev.pop()!r}."
        )
