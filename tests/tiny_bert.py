"""Tiny BERT with a tokenizer, as a pretrain-bert run folder and as a checkpoint."""

import keras

from tfreps.models import BertEncoder, BertPretrainer
from tfreps.runs import RunFolder
from tfreps.text import CharacterTokenizer, WordPieceTokenizer, write_tokenizer

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SIZES = {
    "hidden_dim": 16,
    "num_layers": 2,
    "num_heads": 2,
    "max_sequence_length": 24,
    "dropout": 0.0,
}


def characters(*texts):
    return CharacterTokenizer.from_texts(texts)


def pieces(*words):
    """Returns a tokenizer that splits words of more than four letters into two pieces."""
    found = dict.fromkeys(p for w in words for p in (w[:4], w[4:] and f"##{w[4:]}") if p)
    return WordPieceTokenizer([*SPECIALS, *found])


def normal_weights(stddev):
    """Returns options of a `BertEncoder` for the standard deviation of its initial weights."""
    normal = {"class_name": "TruncatedNormal", "config": {"stddev": stddev}}
    return {"kernel_initializer": normal, "embeddings_initializer": normal}


def make_encoder(tokenizer, **options):
    """Returns an encoder with larger initial weights than BERT, to learn in a few steps."""
    keras.utils.set_random_seed(1)
    options = {**SIZES, "attention_dropout": 0.0, **normal_weights(0.3), **options}
    size = len(tokenizer.vocabulary)
    return BertEncoder(size, padding_id=tokenizer.padding_id, **options)


def write_run(path, tokenizer, next_label=0, **options):
    """Writes a run folder and returns its path and encoder."""
    run = RunFolder.create(path, "pretrain-bert", {"next_label": next_label})
    encoder = make_encoder(tokenizer, **options)
    run.save_model(BertPretrainer(encoder, next_sentence=encoder.pooler))
    write_tokenizer(tokenizer, run.tokenizer_path)
    return path, encoder


def write_checkpoint(path, tokenizer, **options):
    """Writes a folder in the format of Hugging Face and returns its path and encoder."""
    encoder = make_encoder(tokenizer, **options)
    encoder.save_pretrained(path)
    tokenizer.write_vocabulary(path / "vocab.txt")
    return path, encoder
