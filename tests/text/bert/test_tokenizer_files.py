"""Tokenizers in checkpoint folders and run folders."""

import json

import pytest

from tests.text.bert.whole_tokenizers import SPECIALS, whole
from tfreps.text import (
    CharacterTokenizer,
    WordPieceTokenizer,
    checkpoint_tokenizer,
    read_tokenizer,
    write_checkpoint_tokenizer,
    write_tokenizer,
)

LOWER = [*SPECIALS, "a", "##b"]


def folder(path, pieces=LOWER, **config):
    path.mkdir()
    (path / "vocab.txt").write_text("".join(piece + "\n" for piece in pieces))
    if config:
        (path / "tokenizer_config.json").write_text(json.dumps(config))
    return path


@pytest.mark.parametrize(
    "tokenizer",
    [
        WordPieceTokenizer([*LOWER, "\n", "\x85"], strip_accents=False, max_characters_per_word=9),
        CharacterTokenizer.from_texts(["两 \n\u2028"], keep_white_space=True, numbers=False),
    ],
    ids=["wordpiece", "characters"],
)
def test_written_and_read(tmp_path, tokenizer):
    path = tmp_path / "tokenizer.json"
    write_tokenizer(tokenizer, path)
    again = read_tokenizer(path)
    assert type(again) is type(tokenizer) and again.get_config() == tokenizer.get_config()
    assert [file.name for file in tmp_path.iterdir()] == ["tokenizer.json"]


@pytest.mark.parametrize(
    "config",
    [{}, {"tokenizer": "bpe"}, {"tokenizer": "wordpiece", "vocabulary": SPECIALS}, {"x": 1}],
    ids=str,
)
def test_a_file_of_something_else(tmp_path, config):
    (tmp_path / "tokenizer.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="does not contain a tokenizer written by tfreps"):
        read_tokenizer(tmp_path / "tokenizer.json")


@pytest.mark.parametrize(
    "change, message",
    [
        ({"tokenizer": {}}, "does not contain a tokenizer written by tfreps"),
        ({"lowercase": [1]}, r"'lowercase' must be of type bool; got \[1\]"),
        ({"max_length": True}, "'max_length' must be of type int or NoneType; got True"),
        ({"max_characters_per_word": 9.5}, "'max_characters_per_word' must be of type int"),
        ({"vocabulary": 3.5}, "'vocabulary' must be of type list; got 3.5"),
        ({"vocabulary": [*SPECIALS, "\ud800"]}, r"line 6: '.ud800' contains a lone surrogate"),
    ],
    ids=str,
)
def test_a_file_with_values_of_other_types(tmp_path, change, message):
    write_tokenizer(WordPieceTokenizer(LOWER), tmp_path / "own.json")
    config = {**json.loads((tmp_path / "own.json").read_text()), **change}
    (tmp_path / "own.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=message):
        read_tokenizer(tmp_path / "own.json")


def test_what_a_checkpoint_says(tmp_path):
    said = {"do_lower_case": False, "strip_accents": True, "tokenize_chinese_chars": False}
    found = checkpoint_tokenizer(folder(tmp_path / "a", **said, model_max_length=512))
    assert found.vocabulary == LOWER
    assert (found.lowercase, found.strips_accents, found.split_chinese) == (False, True, False)
    assert found.max_length == 512
    assert checkpoint_tokenizer(tmp_path / "a", lowercase=True).lowercase
    more = checkpoint_tokenizer(tmp_path / "a", max_characters_per_word=200)
    assert more.max_characters_per_word == 200
    plain = checkpoint_tokenizer(folder(tmp_path / "b", do_lower_case=True, strip_accents=None))
    assert plain.lowercase and plain.strips_accents and plain.split_chinese
    assert plain.max_length is None


@pytest.mark.parametrize("huge", [None, int(1e30), 1e30])
def test_no_limit(tmp_path, huge):
    assert checkpoint_tokenizer(folder(tmp_path / "a", model_max_length=huge)).max_length is None


def test_the_limit_goes_along(tmp_path):
    write_checkpoint_tokenizer(WordPieceTokenizer(LOWER, max_length=9), tmp_path)
    assert json.loads((tmp_path / "tokenizer_config.json").read_text())["model_max_length"] == 9
    assert checkpoint_tokenizer(tmp_path).max_length == 9
    write_tokenizer(CharacterTokenizer.from_texts(["a"], max_length=5), tmp_path / "own.json")
    assert read_tokenizer(tmp_path / "own.json").max_length == 5


@pytest.mark.parametrize(
    "said, message",
    [
        ({"tokenizer_class": "BertJapaneseTokenizer"}, "must be the class of a WordPiece"),
        ({"tokenizer_class": ["BertTokenizer"]}, "'tokenizer_class' .* got ..BertTokenizer"),
        ({"cls_token": "<s>"}, "'cls_token' must be '.CLS.', as in BERT, unless .* got '<s>'"),
        ({"unk_token": {"content": "<unk>"}}, "'unk_token' must be '.UNK.'"),
        ({"do_basic_tokenize": False}, "'do_basic_tokenize' must be true"),
        ({"never_split": ["a"]}, "'never_split' must be empty"),
        ({"model_max_length": 2}, "'model_max_length' must be an integer of at least 3.*; got 2"),
        ({"model_max_length": "512"}, "'model_max_length' must be an integer .* got '512'"),
        ({"truncation_side": "left"}, "'truncation_side' must be 'right'"),
        ({"added_tokens_decoder": {"7": {"content": "<url>"}}}, r"adds tokens .* \('<url>'\)"),
        ({"added_tokens_decoder": [1]}, r"'added_tokens_decoder' must be a JSON object; got \[1\]"),
    ],
)
def test_the_tokenizer_of_another_model(tmp_path, said, message):
    with pytest.raises(ValueError, match=message):
        checkpoint_tokenizer(folder(tmp_path / "a", **said))


def test_specials_as_transformers_writes_them(tmp_path):
    said = {
        "tokenizer_class": "BertTokenizerFast",
        "mask_token": {"content": "[MASK]"},
        "pad_token": "[PAD]",
    }
    said["added_tokens_decoder"] = {"0": {"content": "[PAD]"}, "2": {"content": "[CLS]"}}
    said |= {"do_basic_tokenize": True, "never_split": None}
    assert checkpoint_tokenizer(folder(tmp_path / "a", **said)).vocabulary == LOWER


def test_specials_of_an_older_file(tmp_path):
    path = folder(tmp_path / "a") / "special_tokens_map.json"
    path.write_text('{"unk_token": "[UNK]", "mask_token": {"content": "[MASK]"}}')
    assert checkpoint_tokenizer(tmp_path / "a").vocabulary == LOWER
    path.write_text('{"unk_token": "[unused0]"}')
    with pytest.raises(ValueError, match="map.json: 'unk_token' must be '.UNK.'"):
        checkpoint_tokenizer(tmp_path / "a")


def test_added_tokens_of_an_older_file(tmp_path):
    (folder(tmp_path / "a") / "added_tokens.json").write_text('{"<url>": 7}')
    with pytest.raises(ValueError, match="added_tokens.json adds tokens to the vocabulary"):
        checkpoint_tokenizer(tmp_path / "a")


@pytest.mark.parametrize("name", ["vocab.txt", "tokenizer.json", "bert_word2idx.json"])
def test_a_pointer_of_git_lfs(tmp_path, name):
    (tmp_path / name).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
    with pytest.raises(ValueError, match=f"{name} is a git-lfs pointer, not the file itself"):
        checkpoint_tokenizer(tmp_path)


def test_characters_come_back_whole(tmp_path):
    own = CharacterTokenizer.from_texts(["房间 3.5 分 Wifi"], lowercase=False, whole_words=False)
    write_checkpoint_tokenizer(own, tmp_path)
    found = checkpoint_tokenizer(tmp_path)
    assert type(found) is CharacterTokenizer and found.get_config() == own.get_config()
    assert checkpoint_tokenizer(tmp_path, lowercase=True).lowercase


def test_the_dictionary_of_the_aespresso(tmp_path):
    (tmp_path / "bert_word2idx_extend.json").write_text('{"房": 20, "间": 21, "wifi": 22}')
    found = checkpoint_tokenizer(tmp_path, vocabulary_size=22)
    assert found.text_to_ids("房 Wifi 3") == [20, 1, 5] and len(found.vocabulary) == 22
    assert checkpoint_tokenizer(tmp_path).text_to_ids("wifi") == [22]


def test_where_nothing_is_said_capital_letters_tell(tmp_path):
    assert checkpoint_tokenizer(folder(tmp_path / "lower")).lowercase
    assert not checkpoint_tokenizer(folder(tmp_path / "cased", [*LOWER, "##B"])).lowercase


def test_a_folder_with_one_file_for_all(tmp_path):
    normalizer = {"lowercase": False, "handle_chinese_chars": False}
    content = whole(LOWER, normalizer=normalizer, model={"max_input_chars_per_word": 50})
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(content))
    found = checkpoint_tokenizer(tmp_path)
    assert found.vocabulary == LOWER and found.max_characters_per_word == 50
    assert not found.lowercase and not found.strips_accents and not found.split_chinese
    path.write_text("[" * 100_000)
    with pytest.raises(
        ValueError, match="tokenizer.json cannot be read as JSON: it is nested too deeply"
    ):
        checkpoint_tokenizer(tmp_path)


def test_folders_that_cannot_be_read(tmp_path):
    with pytest.raises(
        ValueError, match="contains no vocab.txt, no tokenizer.json and no bert_word2"
    ):
        checkpoint_tokenizer(tmp_path)
    with pytest.raises(ValueError, match="'do_lower_case' must be true or false; got 'yes'"):
        checkpoint_tokenizer(folder(tmp_path / "a", do_lower_case="yes"))
