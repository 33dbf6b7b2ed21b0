"""Opens models by name and by address as the documentation does, on a local hub."""

import hashlib

import numpy as np
import pytest

import tfreps
from tests import tiny_bert
from tests.closeness import assert_close
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
    lines = repr(tfreps.presets.table()).splitlines()
    assert lines[0].split() == [
        *("name", "kind", "parameters", "size", "source", "license", "checksum")
    ]
    [small] = [line for line in lines if line.startswith("elmo_small ")]
    assert "13.6M" in small and "54.4 MB" in small and "747ba97abce8..." in small
