"""Every tokenizer.json gives the pieces of the package `tokenizers`; others cannot be exported."""

import itertools
import json

import pytest
import tensorflow as tf
from tokenizers import Tokenizer

from tests.text.bert.whole_tokenizers import (
    PIECES,
    SPECIALS,
    added,
    bert_processing,
    template,
    text,
    token,
    whole,
)
from tfreps._src.text.token_offsets import tokenize_with_offsets
from tfreps.text import (
    JsonTokenizer,
    PieceIndexer,
    checkpoint_tokenizer,
    read_tokenizer,
    tokenize,
    write_checkpoint_tokenizer,
    write_tokenizer,
)

TEXTS = ["Runs a-b", "runs  Ab!\tab", "cafés Café", "两两 a两", "a\u200bb a\x00b", "", "ababab"]
TEXTS += ["a\ufffdb", "a\u00a0b", "cafe\u0301s", "<s> runss", "b" * 101, "- -- !a!"]


@pytest.fixture(params=["tokenizer.json", "vocab.txt"])
def read(request, tmp_path):
    """Returns a function that reads a tokenizer.json, alone or with a vocab.txt next to it."""

    def read(content, **config):
        (tmp_path / "tokenizer.json").write_text(json.dumps(content))
        if request.param == "vocab.txt":
            (tmp_path / "vocab.txt").write_text("".join(piece + "\n" for piece in PIECES))
        if config:
            (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
        return checkpoint_tokenizer(tmp_path)

    return read


def assert_same(found, content):
    expected = Tokenizer.from_str(json.dumps(content))
    expected.no_truncation()
    for one, two in itertools.product(TEXTS, [None, "runs a"]):
        their = expected.encode(one, two)
        second = None if two is None else found.text_to_ids(two)
        assert found.build_inputs(found.text_to_ids(one), second) == (their.ids, their.type_ids), (
            one,
            two,
        )


SWITCHES = {"lowercase": [True, False], "strip_accents": [None, True, False]}
SWITCHES["handle_chinese_chars"] = [True, False]


@pytest.mark.parametrize("values", [*itertools.product(*SWITCHES.values())], ids=str)
def test_every_switch_of_the_normalizer(read, values):
    content = whole(normalizer=dict(zip(SWITCHES, values, strict=True)))
    assert_same(read(content), content)


@pytest.mark.parametrize(
    "changes",
    [
        {"model": {"max_input_chars_per_word": 3}},
        {"model": {"max_input_chars_per_word": 101}},
        {"post_processor": bert_processing()},
        {"added_tokens": added(*SPECIALS)},
        {"truncation": {"direction": "Right", "max_length": 4, "strategy": "LongestFirst"}},
    ],
    ids=str,
)
def test_other_parts_of_a_bert(read, changes):
    if "truncation" in changes:
        changes = {"truncation": {**changes["truncation"], "stride": 0}}
    assert_same(read(whole(**changes)), whole(**changes))


def sequence(kind, *parts):
    return {"type": "Sequence", kind: [{"type": part} for part in parts]}


XLM = {"single": [token("[CLS]"), text("A"), token("[SEP]")]}
XLM["pair"] = [*XLM["single"], token("[SEP]"), text("B"), token("[SEP]")]
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
UNIGRAM = {"type": "Unigram", "unk_id": 1, "byte_fallback": False}
UNIGRAM["vocab"] = [[piece, -float(n)] for n, piece in enumerate(PIECES)]
LEVEL = {"type": "WordLevel", "vocab": whole()["model"]["vocab"], "unk_token": "[UNK]"}
# Changes of BERT's tokenizer.json that only Python can apply, and the reason in the error.
PYTHON_ONLY = [
    ({"pre_tokenizer": None}, "'type' of 'pre_tokenizer' must be 'BertPreTokenizer'; got None"),
    ({"pre_tokenizer": {"type": "WhitespaceSplit"}}, "'pre_tokenizer' .* got 'WhitespaceSplit'"),
    ({"pre_tokenizer": {"type": "Whitespace"}}, "'pre_tokenizer' .* got 'Whitespace'"),
    ({"pre_tokenizer": BYTES}, "'pre_tokenizer' .* got 'ByteLevel'"),
    (
        {"pre_tokenizer": sequence("pretokenizers", "WhitespaceSplit", "BertPreTokenizer")},
        "'pre_tokenizer' .* got 'Sequence'",
    ),
    ({"normalizer": None}, "'type' of 'normalizer' must be 'BertNormalizer'; got None"),
    ({"normalizer": {"type": "Lowercase"}}, "'normalizer' .* got 'Lowercase'"),
    (
        {"normalizer": sequence("normalizers", "NFD", "Lowercase", "StripAccents")},
        "'normalizer' .* got 'Sequence'",
    ),
    ({"normalizer": {"clean_text": False}}, "'clean_text' of 'normalizer' must be True; got Fal"),
    ({"model": {"continuing_subword_prefix": "__"}}, "'continuing_subword_prefix' .* got '__'"),
    ({"model": {"unk_token": "b"}}, "'unk_token' of 'model' must be '.UNK.'; got 'b'"),
    ({"model": LEVEL}, "'type' of 'model' must be 'WordPiece'; got 'WordLevel'"),
    ({"model": UNIGRAM}, "'type' of 'model' must be 'WordPiece'; got 'Unigram'"),
    ({"added_tokens": added("[CLS]", "a-b")}, "it adds tokens .* such as 'a-b'"),
    ({"added_tokens": added("<url>", special=False)}, "it adds tokens .* such as '<url>'"),
    ({"post_processor": template(segment=0)}, "'post_processor' must join two texts like BERT"),
    ({"post_processor": {**template(), **XLM}}, "'post_processor' must join two texts like"),
    (
        {
            "post_processor": bert_processing(kind="RobertaProcessing")
            | {"trim_offsets": True, "add_prefix_space": False}
        },
        "'post_processor' must join two texts like BERT",
    ),
]


@pytest.mark.parametrize("changes, reason", PYTHON_ONLY, ids=str)
def test_other_tokenizers_are_for_python_alone(read, changes, reason):
    content = whole(**changes)
    found = read(content)
    assert type(found) is JsonTokenizer
    assert_same(found, content)
    texts = [one for one in TEXTS if "\0" not in one]
    assert found(texts).to_list() == list(map(found.text_to_ids, texts))
    with pytest.raises(ValueError, match="tokenizer.json .* cannot be exported.*: .*" + reason):
        PieceIndexer(found).with_vocabulary_file("unused")
    if changes.get("pre_tokenizer", "") in (None, BYTES):
        return  # a piece can contain parts of two words
    for one, words in zip(TEXTS, tokenize(TEXTS, found), strict=True):
        pieces = [found.text_to_ids(word) for word in words]
        assert all(pieces) and sum(pieces, []) == found.text_to_ids(one), one


def test_words_of_raw_texts(read):
    """Words are the parts of the pre-tokenizer, without white space, at their place in the text."""
    found = read(whole(normalizer={"clean_text": False}))
    texts = ["Runs, a-b!", "两a\u0301 b ", "", "\ud800 a"]
    words = [["Runs", ",", "a", "-", "b", "!"], ["两", "a", "b"], [], ["\ufffd", "a"]]
    assert tokenize(texts[:3], found) == words[:3]
    assert tokenize_with_offsets(texts[:2], found) == (
        words[:2],
        [[(0, 4), (4, 5), (6, 7), (7, 8), (8, 9), (9, 10)], [(0, 1), (1, 2), (4, 5)]],
    )
    assert found.word_offsets(texts[3:]) == [[(0, 1), (2, 3)]]
    found = read(whole(pre_tokenizer=None))
    assert tokenize(["Runs a-b, 两!"], found) == [["Runs", "a-b,", "两!"]]
    found = read(whole(pre_tokenizer=BYTES))
    assert tokenize(["Runs a-b, 两!"], found) == [["Runs", "a", "-", "b", ",", "两", "!"]]
    with pytest.raises(ValueError, match="cannot be exported"):
        tokenize(tf.constant(["a"]), found)


def test_other_special_tokens(tmp_path):
    """transformers writes a custom `cls_token` to all files, also as an added token."""
    pieces = [piece if piece != "[CLS]" else "<s>" for piece in PIECES if piece != "<s>"]
    ends = template(start="<s>", ids={"<s>": 2})
    content = whole(pieces, added_tokens=added("<s>"), post_processor=ends)
    content["added_tokens"][0]["id"] = 2
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match="tokenizer.json: found no .CLS. among"):
        checkpoint_tokenizer(tmp_path)
    config = {"cls_token": "<s>", "tokenizer_class": "XLMRobertaTokenizer", "model_max_length": 9}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    found = checkpoint_tokenizer(tmp_path)
    assert found.start_id == 2 and found.special_ids == [0, 1, 2, 3, 4] and found.max_length == 9
    assert found.build_inputs(found.text_to_ids("run <s>"))[0][:2] == [2, pieces.index("run")]
    with pytest.raises(ValueError, match="`lowercase` cannot change .*tokenizer.json, which does"):
        checkpoint_tokenizer(tmp_path, lowercase=True)
    for write, again in [
        (write_tokenizer, lambda: read_tokenizer(tmp_path / "new" / "own.json")),
        (write_checkpoint_tokenizer, lambda: checkpoint_tokenizer(tmp_path / "new")),
    ]:
        (tmp_path / "new").mkdir(exist_ok=True)
        own = write is write_tokenizer
        write(found, tmp_path / "new" / "own.json" if own else tmp_path / "new")
        assert again().get_config() == found.get_config()


ENDS = "'post_processor' must enclose each text in '.CLS.' and '.SEP.', as in BERT; got "


@pytest.mark.parametrize(
    "part, change, message",
    [
        ("model", 7, "'model' must be a JSON object; got 7"),
        ("model", {"type": "BPE"}, "cannot be read by the package tokenizers: .*Use the original"),
        ("model", {"vocab": {"[PAD]": []}}, "the ids of pieces must be the .* from 0 to 0,"),
        ("model", {"vocab": {"[PAD]": 0, "a": 7}}, "the ids of pieces must be the .* 0 to 1, ea"),
        ("model", {"max_input_chars_per_word": "x"}, "must be an integer of at least 1"),
        ("added_tokens", 0.5, "'added_tokens' must be a JSON list; got 0.5"),
        ("pre_tokenizer", "Bert", "'pre_tokenizer' must be a JSON object; got 'Bert'"),
        ("post_processor", None, ENDS + "None"),
        ("post_processor", bert_processing(start="<s>"), ENDS + ".*'<s>'"),
        ("post_processor", bert_processing("[SEP]", "[CLS]"), ENDS),
        ("post_processor", template(start="<s>"), ENDS + ".*'<s>'"),
        ("post_processor", template("[SEP]", "[CLS]"), ENDS),
        ("post_processor", template(ids={"[CLS]": 9}), ENDS + ".*9"),
        ("post_processor", {"single": ["[CLS]", 7]}, ENDS + ".*'.CLS.', 7"),
        ("post_processor", {"pair": 7}, "'pair' must be a JSON list; got 7"),
        ("post_processor", {"special_tokens": {"[CLS]": 2}}, "'.CLS.' must be a JSON object; got"),
        ("normalizer", {"lowercase": "yes"}, "'lowercase' must be true or false; got 'yes'"),
        (
            "normalizer",
            {"type": "Precompiled", "precompiled_charsmap": "AAAA"},
            "cannot be read by the package tokenizers: .*Precompiled",
        ),
        (
            "truncation",
            {"direction": "Left", "max_length": 4, "strategy": "LongestFirst"},
            "'direction' of 'truncation' must be 'Right', .* got 'Left'",
        ),
    ],
    ids=str,
)
def test_damaged_files(tmp_path, part, change, message):
    (tmp_path / "tokenizer.json").write_text(json.dumps(whole(**{part: change})))
    with pytest.raises(ValueError, match="tokenizer.json.* " + message):
        checkpoint_tokenizer(tmp_path)


def test_texts_are_lowercased_before_other_steps(read):
    content = whole(normalizer={"type": "StripAccents"})
    assert read(content).lowercased().tokenize("RUNS") == ["runs"]
    assert read(whole(normalizer=None)).lowercased().tokenize("RUNS") == ["runs"]


def test_a_model_without_its_unknown_token(tmp_path):
    content = whole(model={"unk_token": "missing"})
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match="tokenizer.json: the package tokenizers cannot split a"):
        checkpoint_tokenizer(tmp_path).tokenize("???")


def test_two_vocabularies(tmp_path):
    (tmp_path / "tokenizer.json").write_text(json.dumps(whole()))
    (tmp_path / "vocab.txt").write_text("".join(piece + "\n" for piece in PIECES[:-1]))
    with pytest.raises(ValueError, match="vocab.txt and tokenizer.json contain different vocab"):
        checkpoint_tokenizer(tmp_path)


@pytest.mark.parametrize("kind, lowercase", [("BertTokenizer", True), ("TokenizersBackend", False)])
def test_which_file_decides(read, kind, lowercase):
    """The classes for any tokenizer.json ignore `do_lower_case`, as in transformers."""
    content = whole(normalizer={"lowercase": False})
    assert read(content, tokenizer_class=kind, do_lower_case=True).lowercase is lowercase


@pytest.mark.parametrize("name", ["additional_special_tokens", "extra_special_tokens"])
@pytest.mark.parametrize("tokens", [["<s>"], {"url": "<s>"}], ids=str)
def test_further_special_tokens(read, name, tokens):
    with pytest.raises(ValueError, match="_config.json adds tokens to the vocabulary .'<s>'"):
        read(whole(), **{name: tokens})
