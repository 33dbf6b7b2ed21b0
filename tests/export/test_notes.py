"""The notes next to the versions of a model."""

import json
import re
import urllib.request

import keras
import pytest
import tensorflow as tf

from tests.export.tiny_signatures import TinySignatures
from tests.exported_models import make_trained, of_bilm
from tests.tiny_run import make_pretrainer
from tfreps._src.export import stored_weights
from tfreps._src.export.notes import LETTERS, MEANINGS, about_cost, text_ops, write_notes
from tfreps._src.export.stored_weights import StoredWeights
from tfreps.export import open_for_export, write_export
from tfreps.serving import ModelConfig, ModelServer, ServerOptions


@pytest.fixture(scope="module")
def functions():
    return TinySignatures().functions()


def test_the_readme_tells_every_input_and_output(tmp_path, functions):
    base = tmp_path / "toy"
    base.mkdir()
    (base / "README.md").write_text("written by `tfreps export` before")
    write_notes(base, 3, TinySignatures(), functions)
    text = (base / "README.md").read_text()
    assert (
        "\n---\n\n# toy\n\nA toy of 0 parameters, written by" in text
        and "describes version 3" in text
    )
    assert "and needs\nonly TensorFlow." in text and text_ops(functions) == []
    for line in (
        "| input | `text` | str | [N] | raw sentences or texts, UTF-8 |",
        "| output | `tags` | str | [N, T] | the best legal tag sequence,",
        "| output | `sequence_len` | int32 | [N] |",
        "| output | `attention` | float32 | [1, 2, 3, 4, 4] |",
        "tfreps serve toy\n```\n",
        "\n```bash\ntfreps query toy ",
        "T tokens (of the longest sentence in the batch)",
        "so its width depends on the other requests",
        '-v "$PWD/toy:/models/toy:ro" tensorflow/serving:2.20.0',
        '"signature_name": "explain"',
        "## Cost of a request\n\nThe time and memory that a request",
        "These count as tokens: every run",
        "## Training\n\nNot recorded",
        "tokens of each sentence are real.\n\nA notice for users.\n\n### `default`",
    ):
        assert line in text, line
    assert str(tmp_path) not in text
    names = sorted(path.name for path in base.iterdir())
    assert names == ["README.md", "batching.config", "models.config"]


@pytest.mark.parametrize(
    "most, notice", [(2**30, "Its weights are constants"), (0, "at most 1 GB")]
)
def test_the_readme_tells_where_weights_in_16_bits_are(tmp_path, monkeypatch, most, notice):
    monkeypatch.setattr(stored_weights, "MOST_CONSTANTS", most)
    signatures = TinySignatures()
    dense = keras.layers.Dense(4)
    dense.build([None, 4])
    signatures.weights = StoredWeights([keras.Sequential([keras.Input([4]), dense])])
    write_notes(tmp_path, 1, signatures, signatures.functions())
    assert "16 bits" not in (tmp_path / "README.md").read_text()
    dense.dtype_policy = "mixed_bfloat16"
    write_notes(tmp_path, 1, signatures, signatures.functions())
    assert notice in " ".join((tmp_path / "README.md").read_text().split())


MAKERS = {"hmm": lambda: make_trained("hmm"), "elmo": lambda: of_bilm(make_pretrainer())}


@pytest.mark.slow
@pytest.mark.parametrize("kind", MAKERS)
def test_the_requests_in_the_readme_work(tmp_path, kind):
    base = tmp_path / kind
    write_export(open_for_export(MAKERS[kind](), explain=True), base)
    text = (base / "README.md").read_text(encoding="utf-8")
    bodies = [json.loads(body) for body in re.findall(r"curl -d '(.*?)'", text, re.S)]
    names = [body.get("signature_name") for body in bodies]
    assert names == [None, "explain", "tokens"]
    answers = []
    with ModelServer([ModelConfig(kind, str(base))], ServerOptions(rest_port=0, grpc_port=0)) as s:
        address = f"http://127.0.0.1:{s.rest_port}/v1/models/{kind}:predict"
        for body in bodies:
            request = urllib.request.Request(address, json.dumps(body).encode())
            with urllib.request.urlopen(request, timeout=30) as reply:
                answers.append(json.load(reply)["predictions"])
    assert [row["sequence_len"] for row in answers[2]] == [4, 2]


def test_an_export_that_reads_no_text(tmp_path):
    signatures = TinySignatures(reads_text=False)
    write_notes(tmp_path, 1, signatures, signatures.functions())
    text = (tmp_path / "README.md").read_text()
    assert "It reads ids, not text" in text and "curl" not in text
    assert "`sequence_len` is the number of tokens" not in text
    assert "| input | `token_ids` | int32 | [N, T] |" in text


def test_the_config_of_models_is_what_tensorflow_serving_reads(tmp_path, functions):
    pb2 = pytest.importorskip("tensorflow_serving.config.model_server_config_pb2")
    from google.protobuf import text_format

    base = tmp_path / 'with "quotes"'
    base.mkdir()
    write_notes(base, 1, TinySignatures(), functions)
    found = text_format.Parse((base / "models.config").read_text(), pb2.ModelServerConfig())
    (config,) = found.model_config_list.config
    assert config.name == 'with "quotes"' and config.base_path == '/models/with "quotes"'
    assert config.model_platform == "tensorflow"
    assert config.model_version_policy.latest.num_versions == 1


def test_the_parameters_of_batching(tmp_path, functions):
    """No wheel has the protobuf message, so the test compares each field and value."""
    write_notes(tmp_path, 1, TinySignatures(), functions)
    lines = (tmp_path / "batching.config").read_text().splitlines()
    *lines, last = [line for line in lines if not line.startswith("#")]
    assert last == "pad_variable_length_inputs: true"
    fields = dict(line.split(" { value: ") for line in lines)
    assert {name: int(value.removesuffix(" }")) for name, value in fields.items()} == {
        "max_batch_size": 32,
        "batch_timeout_micros": 2000,
        "max_enqueued_batches": 100,
        "num_batch_threads": 2,
    }


def test_operations_of_tensorflow_text_are_named(tmp_path):
    text = pytest.importorskip("tensorflow_text")
    tokenizer = text.FastWordpieceTokenizer(["a", "[UNK]"], token_out_type=tf.int32)

    @tf.function
    def inner(text):
        return tokenizer.tokenize(text).to_tensor()

    spec = tf.TensorSpec([None], tf.string, "text")
    default = tf.function(lambda text: {"token_ids": inner(text)}).get_concrete_function(text=spec)
    functions = {**TinySignatures().functions(), "default": default}
    assert text_ops(functions) == ["FastWordpieceTokenizeWithOffsets"]
    write_notes(tmp_path, 1, TinySignatures(), functions)
    notes = (tmp_path / "README.md").read_text()
    assert "TensorFlow and these operations of TensorFlow Text: `FastWordpieceTokenizeW" in notes


@pytest.mark.parametrize(
    "most, words", [(512, "truncated to 512 tokens"), (None, "white space. `tfreps")]
)
def test_what_the_readme_says_about_the_cost(most, words):
    text = about_cost(
        {"tokens": "characters", "most_per_text": most, "added_per_text": 0, "attends": bool(most)}
    )
    assert words in text.replace("\n", " ") and "`--max-tokens`" in text
    assert ("counts as t * t / 1,024" in text.replace("\n", " ")) == bool(most)
    assert max(map(len, text.splitlines())) <= 100


def test_an_output_without_a_description_is_an_error(tmp_path, functions):
    spec = tf.TensorSpec([None], tf.string, "text")
    for name, value, message in [
        ("taggs", lambda text: text, "no entry for 'taggs'"),
        ("tags", lambda text: text, r"'tags' must have 2 axes, NT.* got shape \(None,\)"),
    ]:
        made = tf.function(lambda text, name=name, value=value: {name: value(text)})
        other = {"default": made.get_concrete_function(text=spec)}
        with pytest.raises(ValueError, match=message):
            write_notes(tmp_path, 1, TinySignatures(), other)
    assert not list(tmp_path.iterdir())


def test_letters_are_explained():
    used = {letter for letters, _ in MEANINGS.values() for letter in letters}
    assert used == {part.strip()[0] for part in LETTERS.split(",") if len(part.strip()) > 1}
