"""Opens models by name and by address as the documentation does, on a local hub."""

import hashlib
import json
import shutil
import tarfile
import zipfile

import numpy as np
import pytest

import tfreps
from tests import tiny_bert
from tests.closeness import assert_close
from tests.convert.many_langs_fixture import FOLDER, SENTENCES
from tfreps._src.presets import preset_table
from tfreps.inference import TextTagger
from tfreps.models import BiLM, HMMTagger
from tfreps.text import TokenIndexer


def test_a_name_of_the_table(hub, tmp_path, monkeypatch):
    """The row of elmo_original, with the URLs and facts of a small model."""
    mine = BiLM(filters=[[1, 8]], units=8, projection_dim=4)
    mine.save_pretrained(tmp_path / "elmo")
    row = preset_table.rows()["elmo_original"]
    contents = {file.name: (tmp_path / "elmo" / file.name).read_bytes() for file in row.files}
    hub.files |= {f"original/{name}": content for name, content in contents.items()}
    files = [
        file._replace(
            urls=[f"{hub.url}/files/original/{file.name}"],
            size=len(contents[file.name]),
            checksum=hashlib.sha256(contents[file.name]).hexdigest(),
        )
        for file in row.files
    ]
    monkeypatch.setattr(preset_table, "rows", lambda: {"elmo_original": row._replace(files=files)})
    with pytest.warns(UserWarning, match="elmo_original: these facts .* could not be verified"):
        bilm = tfreps.models.BiLM.from_preset("elmo_original")
    ids = np.random.default_rng(0).integers(1, 261, [1, 3, 50])
    found, wanted = bilm(ids), mine(ids)
    for name in wanted:
        assert_close(found[name], wanted[name], name=name)
    answer = tfreps.load("elmo_original")("I have a dog")
    assert answer.tokens == ["I", "have", "a", "dog"]


CONFIG = "cnn_50_100_512_4096_sample.json"
TRAINING = {  # config.json of the English archive, from issue 55 of ELMoForManyLangs
    **{"seed": 1, "gpu": 3, "train_path": "/users4/conll18st/raw_text/English/en-20m.raw"},
    **{"valid_path": None, "test_path": None, "word_embedding": None, "optimizer": "adam"},
    "config_path": f"/Users/yijialiu/work/projects/conll2018/models/word_elmo/{CONFIG}",
    **{"lr": 0.001, "lr_decay": 0.8, "model": "/users4/conll18st/elmo/src/final_models/en.model"},
    **{"batch_size": 32, "max_epoch": 10, "clip_grad": 5, "max_sent_len": 20, "min_count": 3},
    **{"max_vocab_size": 150000, "save_classify_layer": False, "valid_size": 0},
}


@pytest.fixture
def many_langs(tmp_path):
    """Returns a folder like the published ones: more files, and a config_path that is missing."""
    folder = tmp_path / "en.model"
    folder.mkdir()
    for name in "char.dic", "word.dic", "encoder.pkl", "token_embedder.pkl":
        shutil.copyfile(FOLDER / "words" / name, folder / name)
    shutil.copyfile(FOLDER / "words/configs/cnn.json", folder / CONFIG)  # config of the small model
    (folder / "config.json").write_text(json.dumps(TRAINING))
    (folder / "meta.json").write_text("{}")
    (folder / "README").write_text("of the repository")
    return folder


def assert_is_original(name):
    found = tfreps.load(name)
    vectors = found.model(found.word_characters(SENTENCES[:1]))["layer_outputs"][0]
    expected = json.loads((FOLDER / "words/outputs.json").read_text(encoding="utf-8"))[0]
    assert_close(vectors, np.array(expected))


@pytest.mark.few(1)
@pytest.mark.parametrize("inside", ["en.model/", ""])
def test_an_archive_of_many_languages(hub, tmp_path, many_langs, monkeypatch, inside):
    with zipfile.ZipFile(tmp_path / "144.zip", "w") as archive:
        for path in many_langs.iterdir():
            archive.write(path, inside + path.name)
    hub.files["20/144.zip"] = (tmp_path / "144.zip").read_bytes()
    row = preset_table.rows()["elmo_many_en"]
    [file] = row.files
    row = row._replace(files=[file._replace(urls=[f"{hub.url}/files/20/144.zip"])])
    monkeypatch.setattr(preset_table, "rows", lambda: {"elmo_many_en": row})
    with pytest.warns(UserWarning, match="elmo_many_en: these facts of the table could not be"):
        assert_is_original("elmo_many_en")
    assert_is_original(tmp_path / "144.zip")
    assert_is_original(f"{hub.url}/files/20/144.zip")


def test_the_archive_of_simplified_chinese(hub, tmp_path, many_langs, monkeypatch):
    with tarfile.open(tmp_path / "zhs.model.tar.bz2", "w:bz2") as archive:
        archive.add(many_langs, "zhs.model")
    hub.files["zhs"] = (tmp_path / "zhs.model.tar.bz2").read_bytes()
    row = preset_table.rows()["elmo_many_zh_hans"]
    row = row._replace(files=[row.files[0]._replace(urls=[f"{hub.url}/files/zhs"])])
    monkeypatch.setattr(preset_table, "rows", lambda: {"elmo_many_zh_hans": row})
    with pytest.warns(UserWarning, match="issue 106 found that the link"):
        assert_is_original("elmo_many_zh_hans")


def test_the_archive_of_slovene(hub, tmp_path, monkeypatch):
    """slovenian-elmo.tar.gz of CLARIN.SI contains a folder, and weights with an unusual name."""
    mine = BiLM(filters=[[1, 8]], units=8, projection_dim=4)
    mine.save_pretrained(tmp_path / "slovenian")
    weights = tmp_path / "slovenian/weights.hdf5"
    weights.rename(weights.with_name("slovenian-elmo-weights.hdf5"))
    with tarfile.open(tmp_path / "sl.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "slovenian", "slovenian")
    hub.files["sl"] = (tmp_path / "sl.tar.gz").read_bytes()
    row = preset_table.rows()["elmo_sl"]
    row = row._replace(files=[row.files[0]._replace(urls=[f"{hub.url}/files/sl"])])
    monkeypatch.setattr(preset_table, "rows", lambda: {"elmo_sl": row})
    with pytest.warns(UserWarning, match="elmo_sl: these facts"):
        model = tfreps.load("elmo_sl").model
    ids = tfreps.text.batch_to_ids([["Kdo"]])
    assert_close(model(ids)["layer_outputs"], mine(ids)["layer_outputs"])


def test_a_model_of_many_languages_on_the_hub(hub, many_langs):
    hub.add("someone/elmo-en", {path.name: path.read_bytes() for path in many_langs.iterdir()})
    assert_is_original("hf://someone/elmo-en")
    assert not any(path.endswith(("README", "meta.json")) for path in hub.downloads())


def test_the_checksums_of_seqvec(hub, tmp_path, monkeypatch):
    """MD5, the only checksums of SeqVec that are published."""
    mine = BiLM(filters=[[1, 8]], units=8, projection_dim=4)
    mine.save_pretrained(tmp_path / "elmo")
    row, files = preset_table.rows()["seqvec"], []
    for file in row.files:
        content = (tmp_path / "elmo" / file.name).read_bytes()
        hub.files[f"seqvec/{file.name}"] = content
        checksum = hashlib.md5(content).hexdigest()
        assert len(checksum) == len(file.checksum)
        url = f"{hub.url}/files/seqvec/{file.name}"
        files.append(file._replace(urls=[url], checksum=checksum))
    monkeypatch.setattr(preset_table, "rows", lambda: {"seqvec": row._replace(files=files)})
    with pytest.warns(UserWarning, match="seqvec: these facts"):
        model = tfreps.load("seqvec")
    ids = tfreps.text.batch_to_ids([list("SEQWENCE")])
    assert_close(model.model(ids)["layer_outputs"], mine(ids)["layer_outputs"])
    wrong = [files[0], files[1]._replace(checksum="0" * 32)]
    monkeypatch.setattr(preset_table, "rows", lambda: {"seqvec": row._replace(files=wrong)})
    with pytest.raises(ValueError, match="its checksum is [0-9a-f]{32}; expected 0{32}"):
        tfreps.load("seqvec")


@pytest.mark.slow
def test_a_revision_of_the_hub(hub, tmp_path):
    """The encoder is that of the revision, and not of the branch that moved on."""
    encoders = {}
    for scale in 0.3, 0.6:
        folder = tmp_path / f"bert_{scale}"
        _, mine = tiny_bert.write_checkpoint(
            folder, tiny_bert.pieces("good"), **tiny_bert.normal_weights(scale)
        )
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        encoders[hub.add("google-bert/bert-base-uncased", files)] = mine
    assert len(encoders) == 2
    ids = np.array([[2, 5, 3]])
    for commit, mine in encoders.items():
        address = f"hf://google-bert/bert-base-uncased@{commit}"
        bert = tfreps.models.BertEncoder.from_preset(address)
        found, wanted = bert(ids)["sequence_output"], mine(ids)["sequence_output"]
        assert_close(found, wanted)


@pytest.mark.slow
def test_a_tagger_that_reads_raw_text(hub):
    indexer = TokenIndexer.from_sentences([["Ada", "lives"]])
    mine = TextTagger(HMMTagger(indexer.vocabulary_size, ["O", "B-PER"]), indexer)
    mine.upload_preset("hf://someone/their-tagger")
    model = tfreps.load("hf://someone/their-tagger")
    assert model("Ada lives").tags == mine("Ada lives").tags


def test_the_table_has_each_fact():
    lines = repr(tfreps.presets.list_presets()).splitlines()
    assert lines[0].split() == [
        *("name", "kind", "language", "parameters", "size", "source", "license", "checksum")
    ]
    [small] = [line for line in lines if line.startswith("elmo_small ")]
    assert "13.6M" in small and "54.4 MB" in small and "747ba97abce8..." in small
