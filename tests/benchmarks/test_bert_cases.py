"""Tests the small checkpoints: their number, and the layout of each."""

import json

import numpy as np
from safetensors.numpy import load_file

from benchmarks import bert_cases
from tests.closeness import assert_close

CASE = {
    **{"kind": "BertForMaskedLM", "activation": "gelu", "sizes": "usual"},
    **{"style": "early", "prefix": "", "files": "sharded"},
}


def test_every_combination_once_in_a_folder_of_its_own():
    cases = bert_cases.all_cases()
    assert len(cases) == 7 * 2**5 + 9 * 2**3 - 2 * 2
    assert len({bert_cases.folder_name(case) for case in cases}) == len(cases)
    assert len({bert_cases.expected_name(case) for case in cases}) == (7 + 9) * 2 * 2 - 2


def test_numbers_depend_on_the_name_alone():
    first = bert_cases.array_of("a.weight", (2, 3))
    np.testing.assert_array_equal(first, bert_cases.array_of("a.weight", (2, 3)))
    assert abs(bert_cases.array_of("LayerNorm.weight", (999,)).mean() - 1) < 0.05
    assert first.dtype == np.float32


def test_inputs_have_real_tokens_where_the_mask_says():
    ids, segments, mask = bert_cases.inputs_of(bert_cases.config_of(CASE))
    np.testing.assert_array_equal(mask.sum(1), [12, 5, 1])
    np.testing.assert_array_equal(ids != 0, mask)
    assert ids.max() <= 18 and set(segments.ravel()) == {0, 1}


def test_an_early_file_in_pieces(tmp_path):
    bert_cases.write(CASE, tmp_path)
    arrays = {}
    for path in tmp_path.glob("*.safetensors"):
        arrays |= load_file(path)
    assert {"embeddings.LayerNorm.gamma", "embeddings.position_ids"} <= set(arrays)
    np.testing.assert_array_equal(
        arrays["cls.predictions.decoder.weight"], arrays["embeddings.word_embeddings.weight"]
    )
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    assert set(index["weight_map"]) == set(arrays) and len(set(index["weight_map"].values())) == 2
    assert "architectures" not in json.loads((tmp_path / "config.json").read_text())


def test_aespressos_sines():
    table = bert_cases.aespresso_positions(3, 4)
    row = np.array([np.sin(2), np.cos(2 / 100), np.sin(2e-4), np.cos(2e-6)])
    assert_close(table[2], row / np.linalg.norm(row))
    assert not table[0].any()
