"""Each kind of model files is found and opened; any other path raises a clear error."""

import json

import numpy as np
import pytest

import tfreps
from tests import tiny_bert
from tests.closeness import assert_close
from tests.convert.bert_folders import (
    USUAL,
    arrays_of,
    as_google,
    google,
    google_config,
    hugging_face,
)
from tfreps._src.convert.torch_files import START
from tfreps._src.presets.adapter_bases import local_base
from tfreps._src.runs.kinds import (
    AESPRESSO,
    BILM_FILES,
    GOOGLE,
    HUGGING_FACE,
    KERAS_FILE,
    RUN,
    TRAINING_FOLDER,
    kinds_of,
    locate,
)
from tfreps.models import BertEncoder, BiLM

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 438\n"


def opened(path):
    with locate(path, *kinds_of(BertEncoder)) as found:
        return found.open()


def test_a_folder_with_both_is_hugging_faces(tmp_path):
    google(tmp_path, as_google(arrays_of(USUAL)), google_config(USUAL))
    assert opened(tmp_path).source.endswith("bert_model.ckpt")
    hugging_face(tmp_path)
    assert opened(tmp_path).source == str(tmp_path)
    assert opened(tmp_path / "model.safetensors").source == str(tmp_path)
    assert opened(tmp_path / "bert_model.ckpt").options["activation"] != "gelu"


def test_a_folder_of_google_with_a_config_of_hugging_face_beside_it(tmp_path):
    google(tmp_path, as_google(arrays_of(USUAL)), google_config(USUAL))
    (tmp_path / "config.json").write_text("{}")
    assert opened(tmp_path).source.endswith("bert_model.ckpt")


def test_a_vocabulary_of_another_size(tmp_path):
    vocabulary = hugging_face(tmp_path) / "vocab.txt"
    for text in "a\n" * 19, "a\n" * 18 + "a", "a\r\n" * 5:  # a rounded-up table has fewer tokens
        vocabulary.write_text(text)
        opened(tmp_path)
    vocabulary.write_text("a\n" * 20)
    with pytest.raises(
        ValueError, match="vocab.txt has 20 tokens, but the token table of .* 19 rows"
    ):
        BertEncoder.from_pretrained(tmp_path)


ADAPTER = '{"peft_type": "LORA", "base_model_name_or_path": "google-bert/bert-base-cased"}'


@pytest.mark.few(4)
@pytest.mark.parametrize("has_base", [True, False])
@pytest.mark.parametrize("name", [".", "model.safetensors", "adapter_model.safetensors"])
def test_an_adapter_is_named(tmp_path, has_base, name):
    if has_base:
        tiny_bert.write_checkpoint(tmp_path, tiny_bert.pieces("the"))
    (tmp_path / "adapter_config.json").write_text(ADAPTER)
    for file in "model.safetensors", "adapter_model.safetensors":
        (tmp_path / file).touch()
    message = "adapter_config.json belongs to an adapter .* google-bert/bert-base-cased. .*merge_an"
    with pytest.raises(ValueError, match=message):
        tfreps.load(tmp_path / name)
    with pytest.raises(ValueError, match=message):
        BertEncoder.from_pretrained(tmp_path / name)


def with_adapter(encoder, path, base):
    """Writes random adapters of an encoder, and returns the encoder with them."""
    encoder.enable_lora(2, lora_alpha=3, target_modules=["query", "output.dense"])
    rng = np.random.default_rng(0)
    for weight in encoder.trainable_weights:
        weight.assign(rng.normal(size=weight.shape))
    encoder.save_adapter(path, base)
    return encoder


@pytest.mark.parametrize("is_relative", [True, False])
def test_an_adapter_of_a_local_model(tmp_path, monkeypatch, is_relative):
    monkeypatch.chdir(tmp_path)
    tokenizer = tiny_bert.pieces("the", "bank")
    base, encoder = tiny_bert.write_checkpoint(tmp_path / "base", tokenizer)
    adapted = with_adapter(encoder, tmp_path / "lora", "base" if is_relative else base)
    loaded = tfreps.load(tmp_path / "lora")
    ids = np.array([[2, 5, 6, 3]])
    found, plain = (
        x.model({"token_ids": ids})["sequence_output"] for x in (loaded, tfreps.load(base))
    )
    assert_close(found, adapted({"token_ids": ids})["sequence_output"], terms=1024)
    assert np.abs(found - plain).max() > 0.01
    assert loaded("the bank").vectors.shape == (4, 16)


def test_an_adapter_of_a_run(tmp_path):
    base, encoder = tiny_bert.write_run(tmp_path / "run", tiny_bert.pieces("the"))
    adapted = with_adapter(encoder, tmp_path / "lora", base)
    loaded = tfreps.load(tmp_path / "lora")
    ids = {"token_ids": np.array([[2, 5, 3]])}
    found = loaded.model.find(BertEncoder)(ids)["sequence_output"]
    assert_close(found, adapted(ids)["sequence_output"], terms=1024)
    assert loaded.run is None


def test_an_adapter_of_another_adapter(tmp_path):
    """A folder that names itself, or an adapter, is no base model."""
    encoder = tiny_bert.make_encoder(tiny_bert.pieces("the"))
    with_adapter(encoder, tmp_path / "lora", tmp_path / "lora")
    with pytest.raises(ValueError, match="adapter_config.json belongs to an adapter"):
        tfreps.load(tmp_path / "lora")


def test_an_adapter_of_a_preset_in_the_cache(tmp_path, monkeypatch):
    from tfreps._src.presets import preset_table

    monkeypatch.setattr(preset_table, "cache_folder", lambda: tmp_path)
    folder = tmp_path / "presets" / "bert_base_uncased"
    folder.mkdir(parents=True)
    names = [file.name for file in preset_table.rows()["bert_base_uncased"].files]
    for name in names[1:]:
        (folder / name).touch()
    adapter = tmp_path / "lora"
    with_adapter(tiny_bert.make_encoder(tiny_bert.pieces("a")), adapter, "bert_base_uncased")
    assert local_base(adapter) is None
    (folder / names[0]).touch()
    assert local_base(adapter) == folder
    for other in "lac", "nothing", "":
        (adapter / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": other}))
        assert local_base(adapter) is None


def test_an_adapter_in_a_preset(tmp_path):
    tiny_bert.make_encoder(tiny_bert.pieces("a")).save_to_preset(tmp_path / "p")
    (tmp_path / "p" / "adapter_config.json").write_text("{}")
    with pytest.raises(ValueError, match="adapter_config.json belongs to an adapter"):
        BertEncoder.from_preset(tmp_path / "p")


def without(name):
    return lambda path: (hugging_face(path) / name).unlink()


def only(name, text=""):
    def make(path):
        path.mkdir()
        (path / name).write_text(text)

    return make


def with_keras_file(path):
    (hugging_face(path) / "model.safetensors").rename(path / "tf_model.h5")


def with_pickle(path):
    (hugging_face(path) / "model.safetensors").unlink()
    (path / "pytorch_model.bin").write_bytes(b"\x80\x02}.")


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda path: None, "does not exist. Expected a local path"),
        (without("config.json"), "expected config.json next to the weights; there is none"),
        (without("model.safetensors"), "expected one of model.safetensors, .*; found config.json"),
        (
            only("readme.md"),
            "it contains readme.md. Expected one of: a Hugging Face folder",
        ),
        (
            lambda path: path.mkdir(),
            "loaded; it contains nothing. Expected one of: a Hugging Face folder",
        ),
        (with_keras_file, "tf_model.h5 is a file of transformers 4(.|\n)*TFBertModel as Model; M"),
        (with_pickle, "pytorch_model.bin: expected a file of `torch.save`; got a file that starts"),
        (only("config.json", "{"), "config.json is not a JSON file"),
        (only("config.json", "[]"), "config.json: expected a JSON object, .* got "),
        (only("config.json", POINTER), "config.json is a git-lfs pointer"),
    ],
)
def test_folders_that_are_no_checkpoint(tmp_path, make, message):
    make(tmp_path / "model")
    with pytest.raises(ValueError, match=message):
        BertEncoder.from_pretrained(tmp_path / "model")


def test_a_file_of_something_else(tmp_path):
    (tmp_path / "vocab.txt").write_text("Park\n")
    with pytest.raises(
        ValueError, match="vocab.txt is not a model that can be loaded. Expected one"
    ):
        BertEncoder.from_pretrained(tmp_path / "vocab.txt")


@pytest.mark.parametrize("name", ["encoder.pkl", "token_embedder.pkl"])
def test_one_file_of_elmo_for_many_langs(tmp_path, name):
    (tmp_path / name).write_bytes(START)
    with pytest.raises(
        ValueError, match=f"{name} is one of .*ELMoForManyLangs model. Pass the folder "
    ):
        tfreps.load(tmp_path / name)


def kind_of(path):
    with locate(path) as found:
        return found.kind


def test_each_kind_of_files(tmp_path):
    bert = hugging_face(tmp_path / "bert")
    assert kind_of(bert) is kind_of(bert / "model.safetensors") is HUGGING_FACE
    (bert / "model.safetensors").rename(bert / "pytorch_model.bin")
    assert kind_of(bert) is kind_of(bert / "pytorch_model.bin") is HUGGING_FACE
    run, _ = tiny_bert.write_run(tmp_path / "run", tiny_bert.pieces("the"))
    assert kind_of(run) is RUN and kind_of(run / "model.keras") is KERAS_FILE
    (tmp_path / "bert.model.epoch.3.safetensors").touch()
    (tmp_path / "bert.model.epoch.3").write_bytes(START)
    for name in "bert.model.epoch.3.safetensors", "bert.model.epoch.3":
        assert kind_of(tmp_path / name) is AESPRESSO
    (tmp_path / "bert_model.ckpt.index").touch()
    for name in "bert_model.ckpt", "bert_model.ckpt.index", ".":
        assert kind_of(tmp_path / name) is GOOGLE
    bilm = BiLM(filters=[[1, 4]], units=4, projection_dim=2)
    bilm.save_pretrained(tmp_path / "elmo")
    for name in "elmo", "elmo/options.json", "elmo/weights.hdf5":
        assert kind_of(tmp_path / name) is BILM_FILES
    (tmp_path / "elmo" / "weights.hdf5").unlink()
    (tmp_path / "elmo" / "checkpoint").touch()
    assert kind_of(tmp_path / "elmo") is TRAINING_FOLDER
    bilm.save_to_preset(tmp_path / "preset")
    assert kind_of(tmp_path / "preset") is RUN


def test_what_is_there_is_named(tmp_path):
    BiLM(filters=[[1, 4]], units=4, projection_dim=2).save_pretrained(tmp_path / "elmo")
    with pytest.raises(ValueError, match="elmo is the options.json of a published biLM. Expected"):
        BertEncoder.from_preset(tmp_path / "elmo")
    (tmp_path / "export" / "1").mkdir(parents=True)
    (tmp_path / "export" / "1" / "saved_model.pb").touch()
    for folder in tmp_path / "export", tmp_path / "export" / "1":
        with pytest.raises(ValueError, match="is an export, which `tfreps serve` and"):
            kind_of(folder)
