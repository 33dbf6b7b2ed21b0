"""Writes the fixtures of tests/convert/test_many_langs.py with the original.

    PYTHON tests/convert/many_langs_fixture.py NAME

NAME is a key of OPTIONS. PYTHON has PyTorch, h5py and elmoformanylangs 0.0.4.post2; with current
versions of `overrides`, the decorator `@overrides` in its `modules/highway.py` must be removed.
PyTorch 2.14 wrote the files; those of `only_words` have the form of PyTorch 1.6 and later.
"""

import json
import pathlib
import sys

FOLDER = pathlib.Path(__file__).parent / "fixtures" / "many_langs"
SENTENCES = [
    ["the", "dog", "sat"],
    ["海林", "海", "林"],
    ["да", "café", "تك", "😀", "internationalization"],
    ["<bos>", "the", "<pad>", "\u3000", "d", "", "<oov>"],
    ["one", "<eos>"],
    [],
]
CHARACTERS = list("adeg\u3000hikmnosté海林даكت")
WORDS = ["<oov>", "<bos>", "<eos>", "<pad>", "the", "dog", "海", "да", "\u3000", "café"]
SPECIAL = {
    "words": ["<bos>", "<eos>", "<oov>", "<bow>", "<eow>", "<pad>"],
    "characters": ["<oov>", "<pad>", "<bos>", "<eos>", "<bow>", "<eow>"],
}
OPTIONS = {  # word_dim, activation, clip, and char_dim
    "words": (5, "relu", 0.5),
    "characters": (0, "tanh", 3),
    "only_words": (5, "relu", 0.5, 0),
}


def config_of(word_dim, activation, clip, char_dim=3):
    encoder = {"name": "elmo", "projection_dim": 4, "dim": 6, "n_layers": 2}
    embedder = {"name": "cnn", "activation": activation, "filters": [[1, 2], [2, 3], [3, 3]]}
    sizes = {"n_highway": 2, "word_dim": word_dim, "char_dim": char_dim}
    sizes["max_characters_per_token"] = 9
    if not char_dim:
        sizes, embedder = {n: v for n, v in sizes.items() if n != "n_highway"}, {"name": "cnn"}
    return {
        "encoder": {**encoder, "cell_clip": clip, "proj_clip": clip},
        "token_embedder": {**embedder, **sizes},
        "classifier": {"name": "sampled_softmax", "n_samples": 10},
        "dropout": 0.1,
    }


def write_tables(folder, name):
    special = SPECIAL.get(name)
    tables = {}
    if OPTIONS[name][3:] != (0,):
        tables["char.dic"] = special[:3] + CHARACTERS + special[3:]
    if OPTIONS[name][0]:
        tables["word.dic"] = WORDS
    for file, entries in tables.items():
        lines = "".join(f"{entry}\t{number}\n" for number, entry in enumerate(entries))
        (folder / file).write_text(lines, encoding="utf-8")
    return tables


def write(name):
    import torch
    from elmoformanylangs import Embedder
    from elmoformanylangs.frontend import Model
    from elmoformanylangs.modules.embedding_layer import EmbeddingLayer

    folder, config = FOLDER / name, config_of(*OPTIONS[name])
    (folder / "configs").mkdir(parents=True, exist_ok=True)
    (folder / "configs/cnn.json").write_text(json.dumps(config) + "\n")
    (folder / "config.json").write_text('{"config_path": "configs/cnn.json", "seed": 1}\n')
    tables = write_tables(folder, name)
    torch.manual_seed(len(name))
    dims = {"char.dic": 3, "word.dic": OPTIONS[name][0]}
    embeddings = {"char.dic": None, "word.dic": None}
    for file, entries in tables.items():
        ids = {entry: number for number, entry in enumerate(entries)}
        embeddings[file] = EmbeddingLayer(dims[file], ids, fix_emb=False)
    model = Model(config, embeddings["word.dic"], embeddings["char.dic"])
    for weight in model.parameters():
        weight.data.normal_(0, 0.9)
    for part in "token_embedder", "encoder":
        path, weights = folder / f"{part}.pkl", getattr(model, part).state_dict()
        torch.save(weights, path, _use_new_zipfile_serialization=name == "only_words")
    embedder = Embedder(str(folder))
    vectors = embedder.sents2elmo(SENTENCES, output_layer=-2)
    (folder / "outputs.json").write_text(
        json.dumps([each.astype(float).round(7).tolist() for each in vectors]) + "\n"
    )


if __name__ == "__main__":
    write(sys.argv[1])
