"""Tests that Python's `re` splits texts by the converted rules as TensorFlow does."""

import json
import random

import pytest
import tensorflow as tf

from tests import tiny_bert
from tests.exported_models import MAKERS, make_bert, make_trained
from tfreps._src.export.portable.portable_export import _write
from tfreps._src.export.portable_model import portable_model
from tfreps._src.inference import run
from tfreps._src.text.python_rules import python_pattern, python_rules
from tfreps._src.text.token_offsets import tokenize_with_offsets
from tfreps._src.text.tokenizers import rules_of
from tfreps.export import open_for_export
from tfreps.text import TOKENIZERS, tokenize

TEXTS = [
    "",
    " \u3000\u00a0",
    "The U.N. didn't pay $3.50 to O'Neill, e.g. \"at\" 10:30... (or so).",
    "Ada  Lovelace\tlived\u00a0in\u2028London\r\n.",
    "e\u0301a\u0301 n\u0303\u200d \u00ad soft\u00adhyphen zero\u200bwidth",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467 \U0001d4d0 两房间 3.5分 ﬁne ß İstanbul ΣΑΣ",
    "[CLS] is a word, and so is [SEP]; #NUM# too \x00 \x1c \x85.",
    "<S> the <s> <UNK> <unk> [PAD] <pad> [MASK] </S> </s>",
]
ALPHABET = [
    *"aZ é.,'’\"-$( 3٣\u0301\u200b\u00a0\u00ad两\U0001f600\x1f",
    *"☀\ufe0f👩\u200d❤🏽🇩🇪\u20e3\u200c",
    "n't",
    "'s",
    "U.S.",
    "İ",
]


def random_texts(count):
    generator = random.Random(3)
    return ["".join(generator.choices(ALPHABET, k=generator.randrange(30))) for _ in range(count)]


@pytest.mark.parametrize("pattern, expected", [(r"[\pL]\s", r"\t\n\f\r "), ("a$", r"a\Z")])
def test_patterns(pattern, expected):
    assert expected in python_pattern(pattern)


@pytest.mark.parametrize("method", [*TOKENIZERS, "pieces", "characters of BERT"])
def test_texts_are_split_into_the_same_tokens(method):
    if method == "pieces":
        method = tiny_bert.pieces("a", "b")
    elif method == "characters of BERT":
        method = tiny_bert.characters("a", "b")
    rules = json.loads(json.dumps(python_rules(rules_of(method))))
    texts = TEXTS + random_texts(300)
    tokens, offsets = tokenize_with_offsets(texts, method)
    for text, own, places in zip(texts, tokens, offsets, strict=True):
        split = text
        for pattern, new in rules:
            split = run.re.sub(pattern, new, split)
        assert split.split() == own, repr(text)
        keeps_spaces = method == "all_characters"
        assert run.token_offsets(text, own, keeps_spaces) == places, repr(text)
        assert run.token_offsets(text, own[:3], keeps_spaces) == places[:3]
    assert tokens == tokenize(texts, method)


@pytest.mark.parametrize(
    "kind",
    [
        *("crf", "cnn", "bert_pieces", "BiLM"),
        *(
            pytest.param(kind, marks=pytest.mark.slow)
            for kind in (
                "hmm",
                "bert_characters",
                "bert_words",
                "embedder",
                "BertPretrainer",
                "Elmo",
            )
        ),
    ],
)
def test_texts_become_the_same_ids(kind, tmp_path, monkeypatch):
    if kind.startswith("bert_"):
        trained = make_bert(kind[5:])
    else:
        trained = MAKERS[kind]() if kind in MAKERS else make_trained(kind)
    signatures = open_for_export(trained)
    model = portable_model(signatures)
    _write(tmp_path, "onnx", model, b"")
    monkeypatch.setitem(run.STARTS, "onnxruntime", lambda path, threads: (None, None))
    program = run.Model(tmp_path)
    for text in [*TEXTS[2:], *random_texts(15)]:
        features = model.read(tf.constant([text]))
        read, ids = program.read(program.tokenize(text))
        inputs = program.inputs([ids])
        size = len(read)
        if hasattr(signatures, "_read"):
            _, tokens, length = signatures._read(tf.constant([text]))
            assert [token.decode() for token in tokens[0, : int(length[0])].numpy()] == read
        for name in model.specs:
            expected = features[name].numpy()
            found = inputs[name]
            if name != "sequence_len":
                expected, found = expected[:, :size], found[:, :size]
            assert found.tolist() == expected.tolist(), (name, text)
