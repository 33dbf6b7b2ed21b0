"""Every tokenizer.json gives the pieces of the `tokenizers` library, or an error names the part."""

import itertools
import json

import pytest
from tokenizers import Tokenizer

from tests.text.bert.whole_tokenizers import (
    PIECES,
    SPECIALS,
    added,
    bert_processing,
    template,
    whole,
)
from tfreps.text import checkpoint_tokenizer

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


SPLITS = "'type' of 'pre_tokenizer' must be 'BertPreTokenizer'; got "
CHANGES = "'type' of 'normalizer' must be 'BertNormalizer'; got "
ENDS = "'post_processor' must be .*, which encloses a text in '.CLS.' and '.SEP.'"
OTHER_PARTS = {
    "pre_tokenizer": [
        (None, SPLITS + "None"),
        ({"type": "WhitespaceSplit"}, SPLITS + "'WhitespaceSplit'"),
        ({"type": "Whitespace"}, SPLITS + "'Whitespace'"),
        (
            {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}]},
            SPLITS + "'Sequence'",
        ),
    ],
    "normalizer": [
        (None, CHANGES + "None"),
        ({"type": "Lowercase"}, CHANGES + "'Lowercase'"),
        ({"type": "Sequence", "normalizers": [{"type": "NFD"}]}, CHANGES + "'Sequence'"),
        ({"clean_text": False}, "'clean_text' of 'normalizer' must be True; got False"),
    ],
    "model": [
        ({"continuing_subword_prefix": "__"}, "'continuing_subword_prefix' .* must be '##'; got '"),
        ({"unk_token": "b"}, "'unk_token' of 'model' must be '.UNK.'; got 'b'"),
        (
            {"type": "WordLevel", "vocab": whole()["model"]["vocab"], "unk_token": "[UNK]"},
            "'type' of 'model' must be 'WordPiece'; got 'WordLevel'",
        ),
    ],
    "post_processor": [
        (None, "'type' of 'post_processor' must be 'BertProcessing' or .*; got None"),
        (bert_processing(kind="RobertaProcessing"), "'post_processor' .* got 'RobertaProcessing'"),
        (bert_processing(start="<s>"), ENDS + ".* got .*'<s>'"),
        (bert_processing("[SEP]", "[CLS]"), ENDS),
        (template(start="<s>"), ENDS + ".* got .*'<s>'"),
        (template("[SEP]", "[CLS]"), ENDS),
        (template(segment=0), ENDS),
        (template(ids={"[CLS]": 9}), ENDS + ".* got .*9"),
    ],
    "added_tokens": [
        (added("[CLS]", "a-b"), "adds tokens to the vocabulary .'a-b'"),
        (added("<url>", special=False), "adds tokens to the vocabulary .'<url>'"),
    ],
    "truncation": [
        (
            {"direction": "Left", "max_length": 4, "strategy": "LongestFirst", "stride": 0},
            "'direction' of 'truncation' must be 'Right'; got 'Left'",
        ),
    ],
}
OTHERS = [(part, *case) for part, cases in OTHER_PARTS.items() for case in cases]


@pytest.mark.parametrize("part, change, message", OTHERS, ids=str)
def test_other_tokenizers_are_rejected_by_name(read, part, change, message):
    content = whole(**{part: change})
    if part == "post_processor" and change and change["type"] == "RobertaProcessing":
        change |= {"trim_offsets": True, "add_prefix_space": False}
    Tokenizer.from_str(json.dumps(content))  # a valid file
    with pytest.raises(ValueError, match="tokenizer.json.* " + message):
        read(content)


def test_what_the_library_splits_otherwise(read):
    """The reported file: `a-b` is in the vocabulary, and only white space separates words."""
    content = whole(pre_tokenizer={"type": "WhitespaceSplit"})
    encoded = Tokenizer.from_str(json.dumps(content)).encode("a-b", add_special_tokens=False)
    assert encoded.tokens == ["a-b"]
    with pytest.raises(ValueError, match="'pre_tokenizer' must be 'BertPreTokenizer'; got 'White"):
        read(content)
    assert read(whole()).tokenize("a-b") == ["a", "-", "b"]


def test_other_special_tokens_are_named_before_added_ones(tmp_path):
    """transformers writes a custom `cls_token` to all files, also as an added token."""
    pieces = [piece if piece != "[CLS]" else "<s>" for piece in PIECES if piece != "<s>"]
    ends = template(start="<s>", ids={"<s>": 2})
    content = whole(pieces, added_tokens=added("<s>"), post_processor=ends)
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match=ENDS + ".* got .*'<s>'"):
        checkpoint_tokenizer(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text('{"cls_token": "<s>"}')
    with pytest.raises(ValueError, match="config.json: 'cls_token' must be '.CLS.'.* got '<s>'"):
        checkpoint_tokenizer(tmp_path)


@pytest.mark.parametrize(
    "part, change, message",
    [
        ("model", 7, "'model' must be a JSON object; got 7"),
        ("model", {"type": "BPE"}, "'type' of 'model' must be 'WordPiece'; got 'BPE'"),
        ("model", {"vocab": {"[PAD]": []}}, "ids in 'vocab' must be the .* from 0 to 0,"),
        ("model", {"vocab": {"[PAD]": 0, "a": 7}}, "ids in 'vocab' must be the .* from 0 to 1, ea"),
        ("model", {"max_input_chars_per_word": "x"}, "must be an integer of at least 1"),
        ("added_tokens", 0.5, "'added_tokens' must be a JSON list; got 0.5"),
        ("pre_tokenizer", "Bert", "'pre_tokenizer' must be a JSON object; got 'Bert'"),
        ("post_processor", {"single": ["[CLS]", 7]}, ENDS + ".* got .*'.CLS.', 7"),
        ("post_processor", {"pair": 7}, "'pair' must be a JSON list; got 7"),
        (
            "post_processor",
            {"special_tokens": {"[CLS]": 2}},
            "'.CLS.' must be a JSON object; got 2",
        ),
        ("normalizer", {"lowercase": "yes"}, "'lowercase' must be true or false; got 'yes'"),
    ],
    ids=str,
)
def test_damaged_files(tmp_path, part, change, message):
    (tmp_path / "tokenizer.json").write_text(json.dumps(whole(**{part: change})))
    with pytest.raises(ValueError, match="tokenizer.json.* " + message):
        checkpoint_tokenizer(tmp_path)


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
