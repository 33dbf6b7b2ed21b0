"""Times transformers from Hugging Face for benchmarks/bert.py.

    .venv-peers/torch/bin/python -m benchmarks.peer_transformers \\
        encode '{"vocabulary_size": 30522, ...}' 8

The arguments are the task (encode, train or tune), the sizes of the model, and the number of texts.
Transformers uses scaled dot-product attention, its default, and one or two threads, whichever is
faster.
"""

import json
import sys

from benchmarks.peer_loop import answer
from benchmarks.review_lengths import padded_batches, random_texts

LENGTH, MASKED = 128, 20


def main(argv=None):
    task, shape, texts = sys.argv[1:] if argv is None else argv
    answer(*prepare(task, json.loads(shape), int(texts)))
    return 0


def prepare(task, shape, texts):
    """Returns the function to time, and the function that sets the number of threads."""
    import torch
    from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification, BertModel

    torch.manual_seed(0)
    is_tune = task == "tune"
    config = BertConfig(
        vocab_size=shape["vocabulary_size"],
        hidden_size=shape["hidden_dim"],
        num_hidden_layers=min(shape["num_layers"], 3) if is_tune else shape["num_layers"],
        num_attention_heads=shape["num_heads"],
        intermediate_size=4 * shape["hidden_dim"],
        attn_implementation="sdpa",
    )
    if is_tune:
        return make_tune(
            BertForSequenceClassification(config).train(), texts
        ), torch.set_num_threads
    ids = torch.randint(5, 30000, (texts, LENGTH))
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if task == "encode":
        model = BertModel(config).eval()

        def encode():
            with torch.no_grad():
                model(**inputs)

        return encode, torch.set_num_threads
    model = BertForMaskedLM(config).train()
    optimizer = torch.optim.Adam(model.parameters(), 1e-4)
    chosen = torch.rand(texts, LENGTH).argsort(1) < MASKED
    labels = torch.where(chosen, ids, -100)

    def train():
        optimizer.zero_grad()
        model(**inputs, labels=labels).loss.backward()
        optimizer.step()

    return train, torch.set_num_threads


def make_tune(model, texts):
    """Returns a function that trains a classifier for one epoch on `texts` random texts."""
    import torch

    optimizer = torch.optim.Adam(model.parameters(), 1e-4)
    batches = [torch.tensor(ids) for ids in padded_batches(random_texts(texts, 30000))]

    def train():
        for ids in batches:
            optimizer.zero_grad()
            labels = torch.arange(len(ids)) % 2
            model(input_ids=ids, attention_mask=(ids > 0).long(), labels=labels).loss.backward()
            optimizer.step()

    return train


if __name__ == "__main__":
    raise SystemExit(main())
