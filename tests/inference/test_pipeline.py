"""Published taggers against the pipeline of transformers, on sentences in six scripts."""

import json
import os
import random
import subprocess

import numpy as np
import pytest

import tfreps
from docs.by_hand import crf
from tests import tiny_bert
from tfreps import tags as tag_functions

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
# Words in Latin, Cyrillic, Chinese, Arabic, Devanagari and Hangul, and punctuation.
WORDS = (
    "Ada Łódź lives don't Москва живёт 中国 人民银行 لندن مدينة दिल्ली में 서울 에서 U.N. 3.50 , !"
).split()
PIPELINE = """
import json, sys, transformers
folder, texts = sys.argv[1], json.load(sys.stdin)
tokenizer = transformers.BertTokenizerFast.from_pretrained(folder)
model = transformers.BertForTokenClassification.from_pretrained(folder).eval()
call = transformers.pipeline(
    "token-classification", model=model, tokenizer=tokenizer, ignore_labels=[],
    aggregation_strategy="none",
)
found = []
for text in texts:
    given = tokenizer(text, return_tensors="pt")
    logits = model(**given).logits[0, 1:-1].tolist()
    found.append([call(text), given.word_ids()[1:-1], logits])
json.dump(found, sys.stdout, default=float)
"""


def write_tagger(folder):
    """Writes a BERT tagger with random weights in the format of transformers."""
    tokenizer = tiny_bert.pieces(*WORDS)
    tokenizer = type(tokenizer)(tokenizer.vocabulary, lowercase=False)
    encoder = tiny_bert.make_encoder(tokenizer, max_sequence_length=128)
    tagger = tfreps.models.Tagger(encoder, TAGS, use_crf=False)
    tagger.kernel.assign(4.0 * tagger.kernel)
    tagger.save_pretrained(folder)
    tokenizer.write_vocabulary(folder / "vocab.txt")
    config = {"do_lower_case": False, "tokenizer_class": "BertTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


@pytest.mark.slow
def test_tags_of_200_sentences(tmp_path):
    python = os.environ.get("TFREPS_TRANSFORMERS_PYTHON")
    if not python:
        pytest.skip("needs TFREPS_TRANSFORMERS_PYTHON, a Python with transformers")
    write_tagger(tmp_path)
    rng = random.Random(0)
    texts = [" ".join(rng.choices(WORDS, k=rng.randrange(1, 9))) for _ in range(200)]
    command = [python, "-c", PIPELINE, str(tmp_path)]
    done = subprocess.run(
        command, input=json.dumps(texts), capture_output=True, text=True, check=True
    )
    tagger = tfreps.load(tmp_path)
    assert tagger.scheme == "bio"
    num_legal = 0
    allowed = [[b[0] != "I" or a in (b, f"B{b[1:]}") for b in TAGS] for a in TAGS]
    pairs = np.where(allowed, 0.0, -np.inf)  # [from, to]
    start = np.array([0.0 if tag[0] != "I" else -np.inf for tag in TAGS])
    for text, found, (entities, words, logits) in zip(
        texts, tagger.tag(texts), json.loads(done.stdout), strict=True
    ):
        first = [n for n, word in enumerate(words) if n == 0 or word != words[n - 1]]
        assert len(entities) == len(words) and len(first) == len(found.tokens), text
        theirs = [entities[n]["entity"] for n in first]
        offsets = tagger._sentences([text])[0].offsets
        assert [entities[n]["start"] for n in first] == [start for start, _ in offsets]
        scores = np.array(logits)[first]
        path, _ = crf.viterbi(scores, pairs, start, np.zeros(len(TAGS)))
        assert found.tags == [TAGS[tag] for tag in path]
        if not tag_functions.illegal_transitions(theirs, "bio"):
            num_legal += 1
            assert found.tags == theirs
    assert 20 < num_legal < 180
