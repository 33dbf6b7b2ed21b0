"""Writes the fixture of tests/convert/test_sentence_transformers.py.

    python -m tests.convert.sentence_transformers_fixture PYTHON

PYTHON has sentence-transformers, which writes the folder of a tiny random model and computes the
vectors of the texts.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

from tests import tiny_bert

FOLDER = pathlib.Path(__file__).parent / "fixtures" / "sentence_transformers"
TEXTS = [
    "",
    "the hotel",
    "The HOTELS, the dogs!",
    "Naïve café 東京 :-)",
    "dogs " * 30,
    "  the\tdog ",
]
SCRIPT = """
import json, sys
import numpy as np
import torch
from sentence_transformers import SentenceTransformer, models
source, target, texts, output = sys.argv[1:]
torch.manual_seed(3)
bert = models.Transformer(source, max_seq_length=12)
modules = [
    bert,
    models.Pooling(16, pooling_mode=("cls", "mean")),
    models.Dense(32, 6, activation_function=torch.nn.Tanh()),
    models.Dense(6, 4, bias=False, activation_function=torch.nn.Identity()),
    models.Normalize(),
]
prompts = {"query": "the ", "document": ""}
model = SentenceTransformer(modules=modules, prompts=prompts, default_prompt_name="query")
model.save_pretrained(target)
found = {
    name: model.encode(json.loads(texts), prompt_name=name).tolist() for name in prompts
}
with open(output, "w") as file:
    json.dump(found, file)
"""


def main():
    words = "the", "hotel", "hotels", "dogs", "naive", "cafe", "東", "京", ":", "-", ")"
    FOLDER.mkdir(exist_ok=True)
    texts, output = json.dumps(TEXTS), str(FOLDER / "vectors.json")
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder)
        tiny_bert.write_checkpoint(source, tiny_bert.pieces(*words), pooler=False)
        command = [sys.argv[1], "-c", SCRIPT, folder, str(FOLDER / "model"), texts, output]
        subprocess.run(command, check=True)
    (FOLDER / "model" / "README.md").unlink()


if __name__ == "__main__":
    main()
