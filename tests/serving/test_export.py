"""Tests `tfreps export` of run folders and published files."""

import json

import numpy as np
import pytest
import tensorflow as tf

from tests import tiny_bert
from tests.closeness import assert_close
from tests.tiny_run import VOCABULARY, make_pretrainer, make_run
from tests.training import labeling
from tfreps.__main__ import main
from tfreps._src.convert import bilm_tf
from tfreps._src.files.version_folders import versions_of

WRITING = "Writing the SavedModel, which can take a minute."
SENTENCES = ["the dog left", "", "her left hand , zebra"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("run") / "run")


@pytest.fixture(scope="module")
def bert_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bert") / "run"
    return tiny_bert.write_run(folder, tiny_bert.pieces("the", "dog"))[0]


def answer(folder):
    return tf.saved_model.load(str(folder)).signatures["default"](text=tf.constant(SENTENCES))


@pytest.mark.slow
def test_a_run_folder_answers_as_the_model_does(exported_elmo):
    bilm = make_pretrainer().bilm.with_initial_state("warm")
    expected = bilm(tf.constant(SENTENCES))["sequence_output"]
    assert_close(answer(exported_elmo / "deep" / "export" / "1")["lstm_outputs2"], expected)


def test_a_run_folder(exported_elmo):
    """Quick tests of `tfreps predict` compare the numbers of this export."""
    base = exported_elmo / "deep" / "export"
    out = (exported_elmo / "printed.txt").read_text(encoding="utf-8")
    assert "default, tokens, character_ids, vectors, initial_states, score (serving" in out
    assert "Note: Each sentence starts from the stored state after a fixed sentence (`init" in out
    assert (
        f"Next: tfreps predict {base} TEXT, or tfreps serve {base}\n" in out
        and f"{base}/README.md" in out
    )
    assert versions_of(base) == [1]


@pytest.mark.slow
def test_published_files(run, tmp_path, capsys):
    files = [str(tmp_path / name) for name in ("options.json", "weights.hdf5")]
    bilm = run[1].bilm
    bilm_tf.write_weights(bilm, *files)
    folder = tmp_path / "base" / "8"
    (tmp_path / "base" / "7").mkdir(parents=True)
    to = ["--output", str(folder.parent), "--explain"]
    assert main(["export", "--elmo-config", files[0], "--elmo-weights", files[1], *to]) == 0
    expected = bilm(tf.constant(SENTENCES))["sequence_output"]
    assert_close(answer(folder)["lstm_outputs2"], expected)
    out = capsys.readouterr().out
    assert "score" not in out.splitlines()[0]
    assert "Note: `explain` does not return the surprise of each token, because this model" in out


@pytest.mark.slow
def test_published_files_of_words(tmp_path, capsys):
    files = [str(tmp_path / name) for name in ("options.json", "weights.hdf5", "words.txt")]
    bilm = make_pretrainer(vocabulary_size=len(VOCABULARY)).bilm
    bilm_tf.write_weights(bilm, *files[:2])
    VOCABULARY.write(files[2])
    command = [
        "export",
        "--elmo-config",
        files[0],
        "--elmo-weights",
        files[1],
        "--output",
        str(tmp_path),
    ]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "tfreps predict" not in out and "Give --vocabulary FILE" in out
    assert main([*command, "--vocabulary", files[2]]) == 0
    assert "tfreps predict" in capsys.readouterr().out
    ids = np.array([VOCABULARY.tokens_to_ids(SENTENCES[0].split())]) + 1
    expected = bilm(ids)["sequence_output"][0]
    found = answer(tmp_path / "2")["lstm_outputs2"][0, :3]
    assert_close(found, expected)


def test_a_run_without_its_vocabulary(tmp_path, capsys):
    path, _ = make_run(tmp_path / "run")
    (tmp_path / "run" / "vocabulary.txt").unlink()
    assert main(["export", path, "--output", str(tmp_path)]) == 2
    assert "no vocabulary.txt" in capsys.readouterr().err and not (tmp_path / "1").exists()


@pytest.mark.slow
def test_a_bert_with_fewer_bits_asked_and_checked(tmp_path, capsys):
    run, _ = tiny_bert.write_run(tmp_path / "run", tiny_bert.pieces("the", "dog", "left"))
    command = ["export", str(run), "--output", str(tmp_path / "out"), "--weight-dtype", "int8"]
    asked = [*command, "--explain", "--check"]
    assert main([*asked, "--check-python", "no-python"]) == 2
    assert (
        "The export failed its check by no-python, so no version was written: "
        in capsys.readouterr().err
    )
    assert not list((tmp_path / "out").iterdir())
    assert main(asked) == 0
    out = capsys.readouterr().out
    assert "default, tokens, vectors, explain (serving_default is the same as default).\n" in out
    assert "Checked in a new process without tfreps: the outputs differ from the model's by" in out
    assert "Storing the weights as int8 changes" in out
    assert main(["predict", str(tmp_path / "out"), "the cat", "--full"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["pieces"] == ["[CLS]", "the", "[UNK]", "[SEP]"]
    assert found["shapes"]["sequence_output"] == [len(found["pieces"]), 16]


@pytest.mark.parametrize(
    "more, message",
    [
        (["--elmo-initial-state", "warm"], "--elmo-initial-state applies only to a biLM, but"),
        (["--elmo-config", "o.json"], "either MODEL, or both --elmo-config"),
        (["--elmo-weights", "w.hdf5"], "either MODEL, or both --elmo-config"),
        (["--vocabulary", "v"], "--vocabulary applies only to a biLM"),
        (["--scheme", "bio"], "--scheme applies only to a published tagger"),
        (["--check-python", "python"], "--check-python requires --check"),
        (["--max-change", "0.1"], "--max-change has no effect with --format saved_model"),
        (
            ["--check-texts", "f", "--format", "onnx"],
            "--check-texts has no effect with --weight-dtype float32; it applies to int8",
        ),
        (
            ["--weight-dtype", "int8", "--format", "litert"],
            "--weight-dtype cannot be combined with --format litert",
        ),
    ],
)
def test_flags_that_a_bert_would_not_see(bert_run, tmp_path, capsys, more, message):
    assert main(["export", str(bert_run), "--output", str(tmp_path / "out"), *more]) == 2
    assert message in capsys.readouterr().err and not (tmp_path / "out").exists()


@pytest.mark.slow
def test_pieces_by_tensorflow_text(tmp_path, capsys):
    pytest.importorskip("tensorflow_text")
    run, _ = tiny_bert.write_run(tmp_path / "run", tiny_bert.pieces("the", "dog"))
    command = ["export", str(run), "--output", str(tmp_path / "out"), "--check", "--wordpiece"]
    assert main(command) == 0
    notes = (tmp_path / "out" / "README.md").read_text()
    assert "FastWordpieceTokenizeWithOffsets" in notes
    capsys.readouterr()
    assert main(["predict", str(tmp_path / "out"), "the cat", "--full"]) == 0
    assert json.loads(capsys.readouterr().out)["pieces"] == ["[CLS]", "the", "[UNK]", "[SEP]"]


@pytest.mark.slow
def test_a_published_bert(tmp_path, capsys):
    published, encoder = tiny_bert.write_checkpoint(tmp_path / "bert", tiny_bert.pieces("the"))
    assert main(["export", str(published), "--output", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "default, tokens, vectors (serving_default is the same as default).\n" in said
    answer = tf.saved_model.load(str(tmp_path / "out" / "1")).signatures["default"]
    answer = answer(text=tf.constant(["the cat"]))
    assert answer["tokens"].numpy().tolist() == [[b"[CLS]", b"the", b"[UNK]", b"[SEP]"]]
    expected = encoder({"token_ids": tf.constant([[2, 5, 1, 3]])})
    for name in "sequence_output", "pooled_output":
        assert_close(answer[name], expected[name])


@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            ["RUN", "--output", "OUT", "--wordpiece"],
            "applies only to BERT models; a biLM reads whole",
        ),
        (["no/such/run", "--output", "OUT"], "no/such/run does not exist"),
        (["--output", "OUT"], "either MODEL, or both"),
        (["RUN", "--output", "OUT", "--elmo-config", "options.json"], "either MODEL, or both"),
        (["--elmo-config", "options.json", "--output", "OUT"], "either MODEL, or both"),
        (["RUN", "--output", "FULL/file"], "is a file"),
    ],
)
def test_what_cannot_be(run, tmp_path, capsys, arguments, message):
    full = tmp_path / "full"
    full.mkdir()
    (full / "file").write_text("kept")
    names = {"RUN": run[0], "OUT": str(tmp_path / "out")}
    arguments = [names.get(a, a.replace("FULL", str(full))) for a in arguments]
    assert main(["export", *arguments]) == 2
    *steps, error = capsys.readouterr().err.splitlines()
    assert message in error
    assert steps == ([WRITING] if message == "is a file" else [])
    assert [path.name for path in tmp_path.iterdir()] == ["full"]
    assert [path.name for path in full.iterdir()] == ["file"]


@pytest.mark.slow
def test_the_readme_of_an_interrupted_run(tmp_path, capsys):
    """It says where the run stopped, and names options that apply and files without folders."""
    files = labeling.write_tagged(tmp_path, sizes=(40, 10, 10))
    more = ["--units", "4", "--embedding-dim", "4", "--dropout", "0", "--epochs", "5"]
    run = labeling.train_tagger(files, tmp_path / "run", *more, "--time-limit-minutes", "1e-9")
    capsys.readouterr()
    assert main(["export", str(run), "--output", str(tmp_path / "out")]) == 0
    err = capsys.readouterr().err
    assert err.count("warning: The run stopped in epoch 1 of 5.\n") == 1 and WRITING in err
    text = (tmp_path / "out" / "README.md").read_text()
    training = text[text.index("## Training") : text.index("## Evaluation")]
    assert "\nThe run stopped in epoch 1 of 5.\n" in training and str(tmp_path) not in training
    assert "| train | `train.conll` |" in training
    assert "| `dropout` | `0.0` |" in training and "| `units` | `4` |" in training
    for name in ("num_heads", "num_steps", "elmo_top_only", "lowercase", "bert", "window"):
        assert f"`{name}`" not in training

    assert labeling.main(["train-tagger", "--run", str(run), "--resume", "--epochs", "1"]) == 0
    capsys.readouterr()
    assert main(["export", str(run), "--output", str(tmp_path / "out")]) == 0
    assert "stopped" not in capsys.readouterr().err
    assert "stopped" not in (tmp_path / "out" / "README.md").read_text()
