"""Folders of sentence-transformers, against vectors that sentence-transformers 6.2 computed."""

import json
import shutil

import numpy as np
import pytest

import tfreps
from tests.closeness import assert_close
from tests.convert.sentence_transformers_fixture import FOLDER, TEXTS
from tfreps._src.convert.sentence_transformers import read_embedder, read_settings
from tfreps._src.export.portable_model import portable_model
from tfreps.export import open_for_export
from tfreps.inference import TextEmbedder
from tfreps.models import SentenceEmbedder, TokenEmbedder

pytestmark = pytest.mark.usefixtures("eager_if_quick")

VECTORS = json.loads((FOLDER / "vectors.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def embedder():
    return tfreps.load(FOLDER / "model")


@pytest.fixture
def copy(tmp_path):
    """Returns a copy of the folder, and a function that changes a JSON file in it."""
    folder = tmp_path / "model"
    shutil.copytree(FOLDER / "model", folder)

    def change(file, **changes):
        path = folder / file
        values = json.loads(path.read_text("utf-8")) if path.exists() else {}
        values = {**values, **changes}
        (folder / file).write_text(json.dumps({k: v for k, v in values.items() if v is not ...}))

    return folder, change


def test_equals_the_original(embedder):
    assert isinstance(embedder, TextEmbedder) and embedder.max_length == 12
    assert embedder.model.pooling == ["first", "mean"] and embedder.model.normalize
    assert embedder.default_prompt == "query"
    for prompt, expected in VECTORS.items():
        assert_close(embedder(TEXTS, prompt).vectors, expected)
        alone = np.stack([embedder(text, prompt).vectors for text in TEXTS])
        assert_close(alone, expected)
    assert_close(embedder(TEXTS).vectors, VECTORS["query"])


def test_written_folders_and_presets_give_the_same(embedder, tmp_path):
    embedder.save_pretrained(tmp_path / "written")
    embedder.save_to_preset(tmp_path / "preset")
    for name in "written", "preset":
        again = tfreps.load(tmp_path / name)
        np.testing.assert_array_equal(again(TEXTS).vectors, embedder(TEXTS).vectors)
        assert (again.prompts, again.max_length) == (embedder.prompts, 12)
        model = SentenceEmbedder.from_preset(tmp_path / name)
        np.testing.assert_array_equal(model.weights[-1], embedder.model.weights[-1])
    card = (tmp_path / "written" / "README.md").read_text()
    assert "sentence-similarity" in card and "SentenceTransformer(" in card


@pytest.mark.parametrize("kind", ["dot", "euclidean", None, ...])
def test_the_similarity_is_the_one_that_the_folder_names(copy, kind, tmp_path):
    folder, change = copy
    change("config_sentence_transformers.json", similarity_fn_name=kind)
    found, expected = tfreps.load(folder), kind if isinstance(kind, str) else "cosine"
    assert found.similarity_fn_name == expected
    found.save_pretrained(tmp_path / "written")
    found.save_to_preset(tmp_path / "preset")
    for name in "written", "preset":
        assert tfreps.load(tmp_path / name).similarity_fn_name == expected
    assert portable_model(open_for_export(found)).about["similarity_fn_name"] == expected


def test_older_keys_and_places(copy):
    """The files of sentence-transformers 2, in which the BERT has a folder of its own."""
    folder, change = copy
    inner = folder / "0_Transformer"
    inner.mkdir()
    for name in "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json":
        (folder / name).rename(inner / name)
    (inner / "sentence_bert_config.json").write_text('{"max_seq_length": 7, "do_lower_case": true}')
    older = {"pooling_mode": ..., "embedding_dimension": ..., "word_embedding_dimension": 16}
    flags = {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": True}
    change("1_Pooling/config.json", **older, **flags)
    kinds = ["Transformer", "Pooling", "Dense", "Dense", "Normalize"]
    places = ["0_Transformer", "1_Pooling", "2_Dense", "3_Dense", "4_Normalize"]
    modules = [
        {"type": f"sentence_transformers.models.{kind}", "path": place}
        for kind, place in zip(kinds, places, strict=True)
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    found = tfreps.load(folder)
    assert found.max_length == 7 and found.model.pooling == ["first", "mean"]
    assert_close(found(TEXTS[1:2]).vectors, VECTORS["query"][1:2])
    assert found(TEXTS[4]).vectors.tolist() != VECTORS["query"][4]  # fewer pieces are read


@pytest.mark.slow
def test_the_length_of_the_tokenizer_has_no_effect_with_another(copy):
    """sentence-transformers sets the `model_max_length` of the tokenizer to the other length."""
    folder, change = copy
    change("tokenizer_config.json", model_max_length=6)
    change("sentence_bert_config.json", max_seq_length=12)
    found = tfreps.load(folder)
    assert found.max_length == found.tokenizer.max_length == 12
    assert_close(found(TEXTS).vectors, VECTORS["query"])


def test_the_length_of_processing(copy):
    folder, change = copy
    options = {"text": {"max_length": 9, "padding": True, "truncation": True}, "audio": {"x": 1}}
    change("sentence_bert_config.json", max_seq_length=5, processing_kwargs=options)
    assert read_settings(folder).max_length == 9


def test_settings_of_a_distilbert(copy):
    folder, _ = copy
    (folder / "sentence_bert_config.json").unlink()
    (folder / "sentence_distilbert_config.json").write_text('{"max_seq_length": 7}')
    assert read_settings(folder).max_length == 7


def test_lowercasing_keeps_accents(copy):
    folder, change = copy
    change("tokenizer_config.json", do_lower_case=False, strip_accents=False)
    change("sentence_bert_config.json", do_lower_case=True)
    whole = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    whole["normalizer"] |= {"lowercase": False, "strip_accents": False}
    (folder / "tokenizer.json").write_text(json.dumps(whole))
    found = tfreps.load(folder)
    assert found.tokenizer.lowercase and found.tokenizer.strip_accents is False
    assert read_settings(folder).lowercase


def test_one_kind_of_pooling(copy):
    folder, change = copy
    change("1_Pooling/config.json", pooling_mode="mean_sqrt_len_tokens")
    for place in "2_Dense", "3_Dense":
        shutil.rmtree(folder / place)
    modules = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").write_text(json.dumps(modules[:2]))
    model = read_embedder(folder, scale=3.0)
    assert model.pooling == "mean_sqrt" and not model.normalize and model.scale == 3.0
    assert model.vector_dim == 16 and not model.dense


@pytest.mark.parametrize(
    "file, changes, message",
    [
        ("1_Pooling/config.json", {"pooling_mode": "weightedmean"}, "got 'weightedmean', which"),
        ("1_Pooling/config.json", {"pooling_mode": 7}, "the pooling must be .*; got 7,"),
        ("1_Pooling/config.json", {"pooling_mode": [["mean"]]}, r"got \['mean'\], which"),
        ("1_Pooling/config.json", {"embedding_dimension": 8}, "must be 16, the width .*; got 8"),
        ("1_Pooling/config.json", {"include_prompt": False}, "`include_prompt` must be true"),
        ("2_Dense/config.json", {"activation_function": "os.system"}, "got 'os.system', which"),
        ("2_Dense/config.json", {"out_features": 10**9}, r"here \(1000000000, 32\)"),
        ("2_Dense/config.json", {"bias": False}, "not used: linear.bias"),
        ("2_Dense/config.json", {"use_residual": True}, "got `use_residual` True"),
        ("2_Dense/config.json", {"module_input_name": "token_embeddings"}, "`module_input_name`"),
        ("2_Dense/config.json", {"module_input_name": []}, "`module_input_name`"),
        ("2_Dense/config.json", {"module_output_name": "x"}, "`module_output_name` 'x'"),
        ("config.json", {"model_type": "mpnet"}, "mpnet"),
        ("config.json", {"model_type": "roberta"}, "roberta"),
        ("config_sentence_transformers.json", {"prompts": {"a": 1}}, "`prompts` must map names"),
        ("config_sentence_transformers.json", {"default_prompt_name": "x"}, "must be one of"),
        ("config_sentence_transformers.json", {"default_prompt_name": []}, "must be one of"),
        ("config_sentence_transformers.json", {"similarity_fn_name": "x"}, "cosine, dot, .*'x'"),
        ("sentence_bert_config.json", {"max_seq_length": 1}, "an int of at least 3; got 1"),
        ("sentence_bert_config.json", {"max_seq_length": 99}, "99 pieces, .* only 24 positions"),
        (
            "sentence_bert_config.json",
            {"processing_kwargs": {"text": {"add_special_tokens": False}}},
            "the option `add_special_tokens` in `processing_kwargs` is not supported; got False",
        ),
        ("sentence_bert_config.json", {"processing_kwargs": [1]}, "whose values are JSON objects"),
        ("adapter_config.json", {"base_model_name_or_path": "a/b"}, "changes .* base model a/b"),
    ],
)
def test_what_is_not_supported_is_named(copy, file, changes, message):
    folder, change = copy
    change(file, **changes)
    with pytest.raises(ValueError, match=message):
        tfreps.load(folder)


@pytest.mark.parametrize(
    "modules, message",
    [
        ([], "got none"),
        ([("models.Transformer", "")], "got Transformer"),
        ([("models.WordEmbeddings", ""), ("models.Pooling", "1_Pooling")], "got WordEmbeddings, P"),
        ([("models.Transformer", "../x"), ("models.Pooling", "1_Pooling")], "a folder inside"),
    ],
)
def test_other_modules(copy, modules, message):
    folder, _ = copy
    entries = [{"type": f"sentence_transformers.{k}", "path": path} for k, path in modules]
    (folder / "modules.json").write_text(json.dumps(entries))
    with pytest.raises(ValueError, match=message):
        tfreps.load(folder)


def test_a_class_of_another_package(copy):
    folder, _ = copy
    (folder / "modules.json").write_text('[{"type": "custom_st.Transformer", "path": ""}]')
    with pytest.raises(ValueError, match="a class of sentence-transformers, .*'custom_st.Trans"):
        tfreps.load(folder)


def test_lists_are_expected(copy):
    folder, _ = copy
    (folder / "modules.json").write_text('{"a": 1}')
    with pytest.raises(ValueError, match="expected a list of JSON objects"):
        tfreps.load(folder)


def test_models_that_cannot_be_written(tmp_path, embedder):
    encoder = embedder.model.encoder
    for model, message in [
        (SentenceEmbedder(TokenEmbedder(9, 4)), "`encoder` must be a BertEncoder"),
        (SentenceEmbedder(encoder, "attention"), "this model has 'attention'"),
        (SentenceEmbedder(encoder, dense=[{"units": 2, "activation": "elu"}]), "got 'elu'"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.save_pretrained(tmp_path / "folder")
        assert not (tmp_path / "folder" / "modules.json").exists()
