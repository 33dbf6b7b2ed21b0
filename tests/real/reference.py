"""Computes the reference numbers of tests/real/test_minilm.py.

    python -m tests.real.reference PYTHON MODEL

PYTHON has sentence-transformers and transformers, and MODEL is the folder of all-MiniLM-L6-v2.
"""

import json
import pathlib
import subprocess
import sys

FILE = pathlib.Path(__file__).parent / "minilm.json"
TEXTS = [
    "",
    "The hotel was quiet and the room was clean.",
    "Our room was silent, and nothing was dirty.",
    "Stocks fell sharply after the central bank raised interest rates.",
    "Москва 東京 naïve café 😀 e\u0301",
    "a very long text of many words " * 80,
]
SCRIPT = """
import json, sys
import sentence_transformers, torch, transformers
model, texts = sys.argv[1], json.loads(sys.argv[2])
found = sentence_transformers.SentenceTransformer(model, device="cpu").encode(texts)
bert = transformers.AutoModel.from_pretrained(model).eval()
with torch.no_grad():
    ids = transformers.AutoTokenizer.from_pretrained(model)(texts[1], return_tensors="pt")
    hidden = bert(**ids).last_hidden_state[0]
versions = {m.__name__: m.__version__ for m in (sentence_transformers, transformers, torch)}
rounded = lambda rows: [[round(float(x), 7) for x in row] for row in rows]
print(json.dumps({
    "versions": versions,
    "vectors": rounded(found),
    "hidden": rounded(hidden[:, :16]),
}))
"""


def main():
    command = [sys.argv[1], "-c", SCRIPT, sys.argv[2], json.dumps(TEXTS)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    FILE.write_text(output.splitlines()[-1] + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
