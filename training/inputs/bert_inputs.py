"""Reads the BERT model of taggers and classifiers, and checks that sentences fit it."""

import itertools

import keras

from tfreps._src.models.bert import BertEncoder
from tfreps._src.runs.bert_loading import load_encoder
from tfreps._src.runs.bert_parts import freeze_layers, max_length
from tfreps._src.text.bert.piece_indexer import check_num_pieces


def read_bert(options, say, pooler=False):
    """Returns the `EncoderAndTokenizer` that `options.bert` names, or `None` if it is not set.

    `say` is a function that prints a line. With `pooler`, the encoder has a pooled output.
    """
    if options.bert is None:
        return None
    changes = {"num_layers": options.num_layers, "dropout": options.bert_dropout}
    changes["attention_dropout"] = options.bert_dropout
    changes = {name: value for name, value in changes.items() if value is not None}
    policy = keras.config.dtype_policy().name
    bert = load_encoder(options.bert, pooler=pooler, dtype=policy, **changes)
    if options.bert_from_scratch:
        bert = bert._replace(encoder=BertEncoder.from_config(bert.encoder.get_config()))
    freeze_layers(bert.encoder, options.freeze_layers or 0)
    if options.lora_rank:
        how = options.lora_alpha, options.lora_dropout, options.target_modules
        bert.encoder.enable_lora(options.lora_rank, *how)
    encoder, size = bert.encoder, len(bert.tokenizer.vocabulary)
    spare = encoder.vocabulary_size - size
    rows = f" ({spare:,} rows of its embedding table belong to no token)" if spare else ""
    say(
        f"BERT: {encoder.num_layers} layers of {encoder.hidden_dim} dimensions from "
        f"{options.bert}, {size:,} tokens{rows}."
    )
    return bert


def check_sentences(data, bert):
    """Raises a ValueError if a tagged sentence in `data` is too long for the BERT model.

    `data` is a dict from names, such as `"train"`, to lists of `TaggedSentence`. If `bert` is
    `None`, no sentence is checked.
    """
    if bert is not None:
        sentences = list(itertools.chain(*data.values()))
        locations = [f"{s.file}, line {s.line}" for s in sentences]
        tokens = [s.tokens for s in sentences]
        check_num_pieces(tokens, bert.tokenizer, max_length(*bert), locations)
