"""Times the BERT of transformers from Hugging Face for benchmarks/bert.py.

The arguments are the engine that runs the model (torch, openvino or onnxruntime; only torch trains)
and the job, which benchmarks/bert.py describes. Transformers uses scaled dot-product attention, its
default. With `"precision": "bfloat16"`, torch computes under autocast, and OpenVINO with its hint
for the inference precision.
"""

import pathlib
import tempfile

from benchmarks.review_lengths import padded_batches, random_texts

MASKED = 20


def prepare(engine, job):
    """Returns the function to time."""
    import torch
    from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification, BertModel

    torch.manual_seed(0)
    torch.set_num_threads(job["threads"])
    shape, texts, length = job["shape"], job["texts"], job["length"]
    is_tune = job["task"] == "tune"
    config = BertConfig(
        vocab_size=shape["vocabulary_size"],
        hidden_size=shape["hidden_dim"],
        num_hidden_layers=min(shape["num_layers"], 3) if is_tune else shape["num_layers"],
        num_attention_heads=shape["num_heads"],
        intermediate_size=4 * shape["hidden_dim"],
        attn_implementation="sdpa",
    )
    if is_tune:
        return make_tune(BertForSequenceClassification(config).train(), job)
    ids = torch.randint(5, 30000, (texts, length))
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if job["task"] == "encode":
        make = {"torch": make_encode, "openvino": openvino_encode, "onnxruntime": onnx_encode}
        return make[engine](BertModel(config).eval(), inputs, job)
    model = BertForMaskedLM(config).train()
    optimizer = torch.optim.Adam(model.parameters(), 1e-4)
    chosen = torch.rand(texts, length).argsort(1) < MASKED
    labels = torch.where(chosen, ids, -100)

    def train():
        optimizer.zero_grad()
        with autocast(job):
            loss = model(**inputs, labels=labels).loss
        loss.backward()
        optimizer.step()

    return train


def autocast(job):
    """Returns the context manager in which torch computes with the precision of the job."""
    import torch

    return torch.autocast("cpu", torch.bfloat16, enabled=job["precision"] == "bfloat16")


def make_encode(model, inputs, job):
    import torch

    def encode():
        with torch.no_grad(), autocast(job):
            model(**inputs)

    return encode


def openvino_encode(model, inputs, job):
    import openvino

    kind = {"bfloat16": "bf16", "float32": "f32"}[job["precision"]]
    options = {"INFERENCE_PRECISION_HINT": kind, "INFERENCE_NUM_THREADS": job["threads"]}
    model = openvino.convert_model(model, example_input=inputs)
    compiled = openvino.compile_model(model, "CPU", options)
    arrays = {name: tensor.numpy() for name, tensor in inputs.items()}
    return lambda: compiled(arrays)


def onnx_encode(model, inputs, job):
    import onnxruntime
    import torch

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = job["threads"]
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder, "bert.onnx"))
        torch.onnx.export(model, (), path, kwargs=inputs, dynamo=True, verbose=False)
        session = onnxruntime.InferenceSession(path, options)
    names = {given.name for given in session.get_inputs()}
    arrays = {name: tensor.numpy() for name, tensor in inputs.items() if name in names}
    return lambda: session.run(None, arrays)


def make_tune(model, job):
    """Returns a function that trains a classifier for one epoch on random texts."""
    import torch

    optimizer = torch.optim.Adam(model.parameters(), 1e-4)
    texts = random_texts(job["texts"], 30000)
    batches = [torch.tensor(ids) for ids in padded_batches(texts, job["by_length"])]

    def train():
        for ids in batches:
            optimizer.zero_grad()
            labels = torch.arange(len(ids)) % 2
            with autocast(job):
                found = model(input_ids=ids, attention_mask=(ids > 0).long(), labels=labels)
            found.loss.backward()
            optimizer.step()

    return train
