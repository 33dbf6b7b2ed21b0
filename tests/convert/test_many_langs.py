"""ELMoForManyLangs: outputs of the original, its dictionaries and configs, and strict errors."""

import json
import shutil

import numpy as np
import pytest

import tfreps
from tests.closeness import assert_close
from tests.convert.many_langs_fixture import FOLDER, OPTIONS, SENTENCES, config_of
from tfreps._src.convert.many_langs_files import PACKAGED, read_characters, read_config, read_words
from tfreps._src.inference.loaded_model import LoadedModel
from tfreps.inference import TextManyLangs
from tfreps.models import BiLM, Elmo, ManyLangsBiLM


@pytest.fixture(scope="module", params=OPTIONS)
def loaded(request):
    return tfreps.load(FOLDER / request.param)


@pytest.fixture(scope="module")
def words():
    return tfreps.load(FOLDER / "words")


def expected_of(loaded):
    found = json.loads((loaded.source / "outputs.json").read_text(encoding="utf-8"))
    return [np.array(v).reshape(3, len(s), 8) for v, s in zip(found, SENTENCES, strict=True)]


@pytest.mark.few(1)
def test_all_layers_of_the_original(loaded):
    assert isinstance(loaded, TextManyLangs) and isinstance(loaded.model, ManyLangsBiLM)
    together = loaded.encode(SENTENCES)
    for sentence, vectors, expected in zip(SENTENCES, together, expected_of(loaded), strict=True):
        alone = loaded.encode([sentence])[0]
        for layer in range(3):
            assert_close(vectors[layer], expected[layer], name=f"{sentence} layer {layer}")
            assert_close(alone[layer], expected[layer], name=f"{sentence} layer {layer}, alone")
            assert np.abs(vectors[layer] - expected[layer]).max(initial=0) < 1e-5


@pytest.mark.few(1)
def test_raw_texts(loaded):
    found = loaded("the dog sat")
    assert found.tokens == SENTENCES[0]
    assert_close(found.vectors, expected_of(loaded)[0])
    assert loaded(["the dog", []])[1].vectors.shape == (3, 0, 8)
    output = loaded.model(loaded.word_characters(SENTENCES))
    assert output["mask"].numpy().sum(axis=1).tolist() == [len(s) for s in SENTENCES]
    assert_close(output["sequence_output"][0, :3], expected_of(loaded)[0][-1])


@pytest.mark.slow
def test_the_clips_matter(loaded):
    """Otherwise the comparison above would not notice them."""
    config = {**loaded.model.get_config(), "cell_clip": None, "projection_clip": None}
    other = ManyLangsBiLM.from_config(config)
    for weight, value in zip(other.weights, loaded.model.weights, strict=True):
        weight.assign(value)
    vectors = TextManyLangs(other, loaded.word_characters).encode(SENTENCES[:1])[0]
    assert np.abs(vectors[1:] - expected_of(loaded)[0][1:]).max() > 0.01


@pytest.mark.slow
@pytest.mark.parametrize("initial_state", ["zero", pytest.param("warm", marks=pytest.mark.slow)])
def test_a_preset(words, tmp_path, initial_state):
    if initial_state == "warm":
        words = tfreps.load(words.source, initial_state=initial_state)
    words.save_to_preset(tmp_path / "preset")
    again = tfreps.load(tmp_path / "preset", initial_state=initial_state)
    assert isinstance(again, TextManyLangs)
    assert again.word_characters.get_config() == words.word_characters.get_config()
    expected = expected_of(words) if initial_state == "zero" else words.encode(SENTENCES)
    for one, other in zip(again.encode(SENTENCES), expected, strict=True):
        assert_close(one, other)
    assert ManyLangsBiLM.from_preset(tmp_path / "preset").units == 6
    assert Elmo.from_preset(tmp_path / "preset", top_only=True).bilm.units == 6
    (tmp_path / "preset/word_characters.json").unlink()
    with pytest.raises(ValueError, match="word_characters.json is missing. Put back"):
        tfreps.load(tmp_path / "preset")


def test_a_preset_of_the_keras_model_alone_reads_ids(words, tmp_path):
    words.model.save_to_preset(tmp_path / "preset")
    again = tfreps.load(tmp_path / "preset")
    assert type(again) is LoadedModel
    ids = words.word_characters(SENTENCES[:1])
    assert_close(again.model(ids)["layer_outputs"][0], expected_of(words)[0])
    with pytest.raises(ValueError, match="ManyLangsBiLM .* expected|without its vocabulary"):
        again("the dog")


@pytest.mark.few(1)
@pytest.mark.parametrize("layer", [1, 0, 2, "average"])
def test_single_layers(words, layer):
    expected = expected_of(words)[0]
    expected = expected.mean(axis=0) if layer == "average" else expected[layer]
    assert_close(words.encode(SENTENCES[:1], layers=layer)[0], expected)
    with pytest.raises(ValueError, match="the number of a layer from 0 to 2, .* got 3"):
        words.encode(SENTENCES[:1], layers=3)


@pytest.mark.slow
def test_states(words):
    expected = expected_of(words)[0]
    carry = ManyLangsBiLM.from_pretrained(words.source, "carry", max_batch_size=2)
    ids = words.word_characters(SENTENCES[:1])
    first, second = (carry(ids)["layer_outputs"][0].numpy() for _ in range(2))
    assert_close(first, expected)
    assert np.abs(second - first)[1:].max() > 0.01  # as in the original's second batch
    carry.reset_states()
    assert_close(carry(ids)["layer_outputs"][0], expected)
    warm = ManyLangsBiLM.from_pretrained(words.source, initial_state="warm", trainable=False)
    states = words.model(ids[:, :0])  # a sentence without tokens
    state = {name: states[name] for name in warm._state_names}
    assert_close(warm(ids)["layer_outputs"], words.model(ids, initial_state=state)["layer_outputs"])


@pytest.mark.slow
def test_elmo_mixes_the_layers_of_the_original(words):
    weights, layers = [0.1, -0.2, 0.3], np.stack([v[:, :3] for v in expected_of(words)[:2]])
    elmo = Elmo(words.model, dropout=0.0, mix_weights=weights)
    ids = words.word_characters(SENTENCES[:2])
    shares = np.exp(weights) / np.exp(weights).sum()
    expected = np.tensordot(layers, shares, [[1], [0]])  # [2, 3, 8]
    for inputs in ids, {"word_character_ids": ids}:
        assert_close(elmo(inputs)["sequence_output"], expected)
    assert_close(TextManyLangs(elmo, words.word_characters).encode(SENTENCES[:2])[1], layers[1])
    with pytest.raises(ValueError, match="must be word character ids .* does not accept strings"):
        elmo(np.array([["the"]]))


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(FOLDER / "words", tmp_path / "model")
    return tmp_path / "model"


def test_dictionaries(folder):
    characters, words = read_characters(folder), read_words(folder)
    assert characters.tokens[3:6] == ["g", "\u3000", "h"] and characters.size == 26
    # <oov>, <bos>, <eos>, then <eow> at the start of a word, and <bow> at its end, <pad>
    assert characters.rows[-6:] == [2, 0, 1, 24, 23, 25]
    assert words.tokens == ["<pad>", "the", "dog", "海", "да", "\u3000", "café"]
    assert words.rows == [3, 4, 5, 6, 7, 8, 9, 0, 1, 2]
    text = (folder / "word.dic").read_text(encoding="utf-8").replace("<bos>", "cat")
    (folder / "word.dic").write_text(text, encoding="utf-8")
    assert read_words(folder).rows[-3:] == [0, 0, 2]  # the start of a sentence is unknown


@pytest.mark.parametrize(
    "config_path", ["cnn.json", "/elsewhere/configs/cnn.json", "../configs/cnn.json"]
)
def test_where_the_config_is(folder, config_path):
    (folder / "configs/cnn.json").rename(folder / "cnn.json")
    (folder / "config.json").write_text(json.dumps({"config_path": config_path}))
    assert read_config(folder)["units"] == 6


def test_an_archive_as_published(words, folder, tmp_path):
    """Its config_path leads to a folder that is elsewhere, and it has files that are not read."""
    (folder / "configs/cnn.json").rename(folder / "cnn.json")
    (folder / "config.json").write_text('{"config_path": "/nowhere/configs/cnn.json"}')
    for name in "README.md", "training.log", "__MACOSX/._encoder.pkl":
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"\0")
    archive = shutil.make_archive(str(tmp_path / "152"), "zip", folder)
    found = tfreps.load(archive)
    ids = words.word_characters(SENTENCES)
    np.testing.assert_array_equal(found.word_characters(SENTENCES), ids)
    outputs, expected = found.model(ids)["layer_outputs"], words.model(ids)["layer_outputs"]
    np.testing.assert_array_equal(outputs, expected)


def test_the_config_of_the_original_package(folder):
    path = "/home/somebody/configs/cnn_50_100_512_4096_sample.json"
    (folder / "config.json").write_text(json.dumps({"config_path": path}))
    assert read_config(folder)["filters"] == PACKAGED["token_embedder"]["filters"]
    with pytest.raises(ValueError, match="token_embedder.pkl are not those that its options"):
        tfreps.load(folder)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"config.json": "{}"}, "`config_path` must be a file name; got None"),
        ({"config.json": '{"config_path": "x.json"}'}, "got 'x.json'. Copy the file"),
        ({"char.dic": "<bos>\t0\n"}, "<oov>, <eos>, .* is missing"),
        ({"char.dic": "a\tb\t0\n"}, "line 1: expected a token, a tab and an id"),
        ({"char.dic": "a\t0\nb\tx\n"}, "line 2: expected a token, a tab and an id"),
        ({"char.dic": "a\t0\nb\t2\n"}, "ids of 2 entries must be less than 2; got 2"),
        ({"word.dic": "<pad>\t0\n"}, "the entry <oov> is missing"),
        ({"word.dic": "<pad>\t0\n<oov>\t1\n"}, r"word_emb_layer.*expected \(2, 5\), got \(10, 5\)"),
        ({"word.dic": None}, "Cannot read .*word.dic"),
        ({"encoder.pkl": ""}, "encoder.pkl: expected a file of `torch.save`"),
    ],
)
def test_files_that_do_not_fit(folder, change, message):
    for name, content in change.items():
        if content is None:
            (folder / name).unlink()
        else:
            (folder / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        tfreps.load(folder)


@pytest.mark.parametrize(
    "part, change, message",
    [
        ("encoder", {"name": "lstm"}, '`encoder.name` must be "elmo"'),
        ("encoder", {"projection_dim": 6}, "must be less than `encoder.dim`; got 6 and 6"),
        ("encoder", {"cell_clip": -1}, "must be a positive number, 0 or null; got -1"),
        ("encoder", {"n_layers": 3}, "missing: backward_layer_2.input_linearity"),
        ("token_embedder", {"name": "lstm"}, '`token_embedder.name` must be "cnn"'),
        ("token_embedder", {"char_dim": 0}, "not used: char_emb_layer.embedding.weight"),
        ("token_embedder", {"char_dim": -1}, "`token_embedder.char_dim` must be a whole number"),
        ("token_embedder", {"char_dim": 0, "word_dim": 0}, "`token_embedder.char_dim` must not bo"),
        ("token_embedder", {"filters": [[10, 2]]}, "must not be wider than .* 9; got the width 10"),
        ("token_embedder", {"max_characters_per_token": 6}, "a whole number from 7"),
        ("token_embedder", {"word_dim": 0}, "not used: word_emb_layer.embedding.weight"),
        ("token_embedder", {"n_highway": 1}, "not used: highways._layers.1.bias"),
    ],
)
def test_configs_that_do_not_fit(folder, part, change, message):
    config = config_of(*OPTIONS["words"])
    config[part].update(change)
    (folder / "configs/cnn.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=message):
        tfreps.load(folder)


def test_a_clip_of_zero_is_none(folder):
    (folder / "configs/cnn.json").write_text(json.dumps(config_of(5, "relu", 0)))
    assert read_config(folder)["cell_clip"] is None


def test_uses_that_are_refused(folder):
    with pytest.raises(ValueError, match="is a folder of ELMoForManyLangs"):
        BiLM.from_pretrained(folder)


def test_options_that_do_not_apply(folder):
    with pytest.raises(ValueError, match="`scheme` applies only to a published tagger"):
        tfreps.load(folder, scheme="bio")
    with pytest.raises(ValueError, match="must have a ManyLangsBiLM; got a BiLM"):
        TextManyLangs(BiLM(filters=[[1, 8]], units=8, projection_dim=4), None)
