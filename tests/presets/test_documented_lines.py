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

pytestmark = pytest.mark.usefixtures("eager_if_quick")


def write_bilm(folder):
    """Writes a small biLM as the published ones are written, and returns it."""
    model = BiLM(filters=[[1, 8]], units=8, projection_dim=4)
    model.save_pretrained(folder)
    return model


def assert_equal(found, expected):
    ids = np.random.default_rng(0).integers(1, 261, [1, 3, 50])
    assert_close(found(ids)["layer_outputs"], expected(ids)["layer_outputs"])


@pytest.fixture
def publish(hub, monkeypatch):
    """Returns a function that puts files at the URLs of a row, which becomes the whole table.

    It takes the name of the row, and the paths of the files in the order of the row. `kind`, the
    name of a hash function, replaces the sizes and checksums of the row.
    """
    whole = preset_table.rows()

    def put(name, *paths, kind=None, **changes):
        row, files = whole[name], []
        for file, path in zip(row.files, paths, strict=True):
            hub.files[f"{name}/{file.name}"] = content = path.read_bytes()
            facts = {"urls": [f"{hub.url}/files/{name}/{file.name}"]}
            if kind:
                digest = hashlib.new(kind, content).hexdigest()
                assert file.checksum is None or len(digest) == len(file.checksum)
                facts |= {"size": len(content), "checksum": digest}
            files.append(file._replace(**facts | changes))
        monkeypatch.setattr(preset_table, "rows", lambda: {name: row._replace(files=files)})

    return put


@pytest.mark.few(1)
@pytest.mark.parametrize("name, kind", [("elmo_original", "sha256"), ("seqvec", "md5")])
def test_names_and_checksums_of_the_table(publish, tmp_path, name, kind):
    """The rows have the URLs and facts of a small model. SeqVec is published with MD5 alone."""
    mine = write_bilm(tmp_path / "elmo")
    paths = tmp_path / "elmo/options.json", tmp_path / "elmo/weights.hdf5"
    publish(name, *paths, kind=kind)
    with pytest.warns(UserWarning, match=f"{name}: these facts .* could not be verified"):
        assert_equal(tfreps.models.BiLM.from_preset(name), mine)
    assert tfreps.load(name)("I have a dog").tokens == ["I", "have", "a", "dog"]
    digits = len(hashlib.new(kind).hexdigest())
    publish(name, *paths, kind=kind, checksum="0" * digits)
    message = f"its checksum is [0-9a-f]{{{digits}}}; expected 0{{{digits}}}"
    with pytest.raises(ValueError, match=message):
        tfreps.load(name)


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
def test_an_archive_of_many_languages(publish, tmp_path, many_langs, inside):
    with zipfile.ZipFile(tmp_path / "144.zip", "w") as archive:
        for path in many_langs.iterdir():
            archive.write(path, inside + path.name)
    publish("elmo_many_en", tmp_path / "144.zip")
    with pytest.warns(UserWarning, match="elmo_many_en: these facts of the table could not be"):
        assert_is_original("elmo_many_en")


@pytest.mark.slow
def test_the_archive_of_simplified_chinese(publish, tmp_path, many_langs):
    with tarfile.open(tmp_path / "zhs.model.tar.bz2", "w:bz2") as archive:
        archive.add(many_langs, "zhs.model")
    publish("elmo_many_zh_hans", tmp_path / "zhs.model.tar.bz2")
    with pytest.warns(UserWarning, match="issue 106 found that the link"):
        assert_is_original("elmo_many_zh_hans")


@pytest.mark.slow
def test_the_archive_of_slovene(publish, tmp_path):
    """slovenian-elmo.tar.gz of CLARIN.SI contains a folder, and weights with an unusual name."""
    mine = write_bilm(tmp_path / "slovenian")
    weights = tmp_path / "slovenian/weights.hdf5"
    weights.rename(weights.with_name("slovenian-elmo-weights.hdf5"))
    with tarfile.open(tmp_path / "sl.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "slovenian", "slovenian")
    publish("elmo_sl", tmp_path / "sl.tar.gz")
    with pytest.warns(UserWarning, match="elmo_sl: these facts"):
        assert_equal(tfreps.load("elmo_sl").model, mine)


def test_a_model_of_many_languages_on_the_hub(hub, many_langs):
    hub.add("someone/elmo-en", {path.name: path.read_bytes() for path in many_langs.iterdir()})
    assert_is_original("hf://someone/elmo-en")
    assert not any(path.endswith(("README", "meta.json")) for path in hub.downloads())


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
