"""Reads, tokenizes and splits the labelled texts of train-classifier."""

from typing import NamedTuple

from tfreps.cli.labelled_formats import read_files
from tfreps.data import LabelledText, stratified_split
from tfreps.runs.bert_loading import least, max_length
from tfreps.text.bert.piece_indexer import piece_texts
from tfreps.text.tokenizers import tokenize_texts

MANY = 10  # so many texts with different labels are a sign that columns are swapped


class TextPart(NamedTuple):
    """One part of the data: its texts, their tokens and where their vectors are stored.

    Args:
        texts: list of `LabelledText`.
        tokens: list of the tokens of each text.
        num_cut: int. Number of texts that were truncated for a BERT model, counted before any
            texts are held out.
        stored: dict. Arguments of `SequenceBatches` that locate the stored vectors.
    """

    texts: list[LabelledText]
    tokens: list[list[str]]
    num_cut: int
    stored: dict

    @property
    def labels(self):
        """List of the labels of the texts."""
        return [text.label for text in self.texts]

    def take(self, places):
        """Returns a `TextPart` of the texts at these indices, with their stored vectors."""
        return self._replace(
            texts=[self.texts[i] for i in places],
            tokens=[self.tokens[i] for i in places],
            stored={**self.stored, "vector_numbers": places},
        )


def read_parts(options, bert=None):
    """Reads all parts of the data; without `--dev`, holds out `--dev-share` of the training texts.

    Args:
        options: namespace of the options of `train-classifier`.
        bert: `EncoderAndTokenizer` that `tfreps.cli.input_options.read_bert` returned, or `None`.

    Returns:
        dict of `"train"`, `"dev"` and `"test"` -> `TextPart`, without parts that were neither given
        nor held out.

    Raises:
        ValueError: If a file is invalid, `cut_texts` raises an error, or there are too few texts
            to hold out a part of them.
    """
    data = {part: read_part(options, bert, part) for part in ("train", "dev", "test")}
    labels = data["train"].labels
    if len(set(labels)) == len(labels) >= MANY:
        raise ValueError(
            f"--train has {len(labels)} texts with {len(labels)} different labels, such as "
            f"{labels[0][:60]!r}. Expected several texts of each label. If the labels are in "
            "another column, select the columns with --label-field and --text-field."
        )
    if data["dev"] is None and options.dev_share:
        places = stratified_split(labels, options.dev_share, options.seed, single="keep")
        data["train"], data["dev"] = (data["train"].take(part) for part in places)
        if not (data["train"].texts and data["dev"].texts):
            raise ValueError(
                f"--dev-share {options.dev_share} of {len(labels)} texts leaves no texts for "
                "training or none for evaluation. Give more texts, use --dev, or set --dev-share 0."
            )
    return {part: texts for part, texts in data.items() if texts is not None}


def read_part(options, bert, part):
    """Returns the `TextPart` of one option, such as "dev"; None if it is not given."""
    files = getattr(options, part)
    if not files:
        return None
    texts = read_files(files, options)
    tokens, num_cut = cut_texts(options, texts, bert)
    numbers = list(range(len(texts)))
    stored = {"vectors": getattr(options, f"{part}_vectors"), "vector_numbers": numbers}
    return TextPart(texts, tokens, num_cut, stored)


def cut_texts(options, texts, bert=None):
    """Tokenizes labelled texts, and truncates them for a BERT model.

    Args:
        options: namespace with `tokens`, `max_length` and `too_long` of `train-classifier`.
        texts: list of `tfreps.data.LabelledText`.
        bert: `EncoderAndTokenizer` that `tfreps.cli.input_options.read_bert` returned. If `None`,
            texts are not truncated here.

    Returns:
        Tuple `(tokens, num_cut)`. `tokens` is a list of the tokens of each text; for a BERT model,
        these are its pieces, enclosed in the start and separator tokens. `num_cut` is the number of
        texts that were truncated.

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


def check_labels(label_set, data, monitor):
    """Checks that there are at least two labels, and exactly two if the monitor is `"val_auc"`.

    Args:
        label_set: `tfreps.text.TagSet` of the labels of the training texts.
        data: dict that `read_parts` returned.
        monitor: str. Metric by which the best weights are chosen.

    Raises:
        ValueError: If there are fewer than two labels; or, for `"val_auc"`, if there are more than
            two or the held-out texts lack one of them.
    """
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
    of_dev = set(data["dev"].labels) if "dev" in data else set()
    if len(of_dev) == 1:
        raise ValueError(
            f"--monitor val_auc needs held-out texts of both labels; all held-out texts have the "
            f"label {of_dev.pop()!r}."
        )
