"""Writes and times models of ELMoForManyLangs for benchmarks/many_langs_parity.py.

A folder contains what `many_langs_cases.write_case` writes. `weights` initializes a model as in the
original's training, doubles the weights, and saves them with the original's `save_model`. `vectors`
also writes the vectors of `sentences.json` to `vectors.npz`, with the tokens of all sentences one
after the other: of each sentence alone ("alone"), in batches of 64 ("batches"), and in the same
batches with the states that the original carries from one batch to the next ("carried"). The first
two start each batch from zero states.

The package elmoformanylangs is used as it is, with three changes while it runs: the decorator
`overrides` returns its function, since its current version rejects a type in the package;
`torch.save` writes the format of PyTorch before 1.6, in which the models were published; and no
gradients are recorded.
"""

import functools
import itertools
import json
import pathlib
import random

BATCH = 64


@functools.cache
def original():
    """Returns the package and its module for training."""
    import overrides
    import torch

    overrides.overrides = lambda method: method
    torch.save = functools.partial(torch.save, _use_new_zipfile_serialization=False)
    torch.set_grad_enabled(False)
    import elmoformanylangs
    from elmoformanylangs import biLM

    elmoformanylangs.logger.setLevel("ERROR")
    return elmoformanylangs, biLM


def weights(folder):
    """Writes `token_embedder.pkl` and `encoder.pkl`."""
    import torch

    folder, (package, module) = pathlib.Path(folder), original()
    about = json.loads((folder / "config.json").read_text("utf-8"))
    path = folder / about["config_path"]
    if not path.is_file():
        path = pathlib.Path(package.__file__).parent / about["config_path"]
    config = json.loads(path.read_text("utf-8"))
    torch.manual_seed(about["seed"])
    layers = {}
    for kind in "word", "char":
        width, path = config["token_embedder"][f"{kind}_dim"], folder / f"{kind}.dic"
        if width:
            lines = path.read_text("utf-8").removesuffix("\n").split("\n")
            ids = {entry: int(number) for entry, number in (line.split("\t") for line in lines)}
        layers[kind] = module.EmbeddingLayer(width, ids, fix_emb=False) if width else None
    model = module.Model(config, layers["word"], layers["char"], n_class=10)
    for weight in model.parameters():
        weight.mul_(2.0)  # makes the weights so large that states exceed the clipping bounds
    model.save_model(str(folder), False)


def vectors(folder):
    """Writes `token_embedder.pkl`, `encoder.pkl` and `vectors.npz`."""
    import numpy as np

    weights(folder)
    folder = pathlib.Path(folder)
    sentences = json.loads((folder.parent / "sentences.json").read_text("utf-8"))
    embedder = original()[0].Embedder(str(folder), BATCH)
    found = {"carried": embed(embedder, sentences)}
    encoder = embedder.model.encoder
    encoder.register_forward_pre_hook(lambda encoder, inputs: encoder.reset_states())
    found["batches"] = embed(embedder, sentences)
    embedder.batch_size = 1
    found["alone"] = embed(embedder, sentences)
    arrays = {name: np.concatenate(layers, axis=1) for name, layers in found.items()}
    np.savez(folder / "vectors.npz", **arrays)


def embed(embedder, sentences):
    """Returns the layers of each sentence, `[L + 1, T, D]`."""
    random.seed(0)  # fixes the order of the batches, which the original program shuffles
    return embedder.sents2elmo(sentences, output_layer=-2)


def prepare(folder, batches):
    """Returns a function that computes all layers of the next batch of tokenized sentences."""
    embedder = original()[0].Embedder(folder, BATCH)
    turns = itertools.cycle(batches)
    return lambda: embed(embedder, next(turns))
