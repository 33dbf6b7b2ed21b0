"""Run folders: creating, opening and resuming them, and errors for wrong folders."""

import json
import os
import pathlib
import types

import keras
import numpy as np
import pytest

from tfreps._src.callbacks.checkpoint_file import save_checkpoint
from tfreps._src.files.atomic_files import is_temporary
from tfreps._src.runs import run_folder
from tfreps._src.runs.run_folder import is_run_folder
from tfreps._src.runs.run_lock import RunInUse
from tfreps._src.runs.run_manifest import MANIFEST, has_data, read_manifest, record_data
from tfreps.runs import RunFolder


@pytest.fixture
def run(tmp_path):
    return RunFolder.create(tmp_path / "run", "pretrain-elmo", {"batch_size": 8})


def head(**changes):
    return {"command": "pretrain-elmo", "format_version": 4, "options": {}, **changes}


def test_create_then_open(tmp_path):
    options = {"train": pathlib.Path("a.txt"), "rate": np.float32(0.5), "filters": [(1, 32)]}
    made = RunFolder.create(tmp_path / "deep" / "run", "pretrain-elmo", options)
    assert made.logs_path.is_dir() and not made.checkpoints_path.exists()
    opened = RunFolder.open(tmp_path / "deep" / "run", "pretrain-elmo")
    assert opened.options == {"train": "a.txt", "rate": 0.5, "filters": [[1, 32]]}
    assert opened.command == "pretrain-elmo"


def test_open_takes_several_programs(run):
    assert RunFolder.open(run.path, ("convert", "pretrain-elmo")).options == {"batch_size": 8}
    assert RunFolder.open(run.path).options == {"batch_size": 8}


def test_create_in_an_empty_folder(tmp_path):
    (tmp_path / ".options.json.7777777.tmp.json").write_text("left by a killed run")
    RunFolder.create(tmp_path, "convert", {})
    assert not (tmp_path / ".options.json.7777777.tmp.json").exists()


def test_create_refuses_a_folder_that_is_no_run(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(ValueError, match="neither empty nor a run folder.*thesis.tex"):
            RunFolder.create(tmp_path, "convert", {}, overwrite=overwrite)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_create_refuses_foreign_options(tmp_path):
    (tmp_path / "options.json").write_text('{"char_cnn": {}}')  # like published ELMo weights
    with pytest.raises(ValueError, match="not written by a tfreps command"):
        RunFolder.create(tmp_path, "convert", {}, overwrite=True)


def test_create_refuses_a_file(tmp_path):
    (tmp_path / "run").write_text("")
    with pytest.raises(ValueError, match="is a file"):
        RunFolder.create(tmp_path / "run", "convert", {})


def test_create_refuses_an_earlier_run_unless_told(run):
    with pytest.raises(ValueError, match="Resume or overwrite it, or choose"):
        RunFolder.create(run.path, "pretrain-elmo", {})
    save_checkpoint(run.checkpoints_path, 1, {}, {})
    run.vocabulary_path.write_text("a\n")
    (run.path / "notes.txt").write_text("the user's own")
    RunFolder.create(run.path, "pretrain-elmo", {"batch_size": 9}, overwrite=True)
    assert RunFolder.open(run.path).options == {"batch_size": 9}
    assert not run.vocabulary_path.exists() and not run.checkpoints_path.exists()
    assert (run.path / "notes.txt").exists()


def test_create_refuses_options_that_json_cannot_hold(tmp_path):
    with pytest.raises(ValueError, match="that JSON can represent"):
        RunFolder.create(tmp_path / "run", "convert", {"f": print})
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "content, message",
    [
        ("{", "not a JSON file"),
        (b"\xff\xfe", "expected UTF-8 text"),
        ("[]", "expected a JSON object"),
        ('{"batch_size": 3}', "not written by a tfreps command"),
        (json.dumps(head(options=[])), "not written by a tfreps command"),
        (
            json.dumps(head(format_version=1)),
            r"an earlier version of tfreps \(format 1; this version",
        ),
        (json.dumps(head(format_version=5)), r"another version of tfreps \(format 5; this ver"),
        (json.dumps(head(command="train-tagger")), "run of `tfreps train-tagger`"),
    ],
)
def test_open_refuses(tmp_path, content, message):
    content = content.encode() if isinstance(content, str) else content
    (tmp_path / "options.json").write_bytes(content)
    with pytest.raises(ValueError, match=message) as raised:
        RunFolder.open(tmp_path, "pretrain-elmo")
    assert str(tmp_path) in str(raised.value)


def test_open_refuses_what_is_no_run_folder(tmp_path):
    with pytest.raises(ValueError, match="no options.json"):
        RunFolder.open(tmp_path)
    with pytest.raises(ValueError, match="not a folder"):
        RunFolder.open(tmp_path / "absent")


def test_results(run):
    assert run.results() == {}
    run.write_results({"perplexity": np.float64(12.5)})
    run.write_results({"perplexity": 11.5})
    assert run.results() == {"perplexity": 11.5}
    assert sorted(path.name for path in run.path.iterdir()) == [
        "logs",
        "manifest.json",
        "options.json",
        "results.json",
    ]


def test_every_changed_character_of_the_results_is_noticed(run):
    results = {"best_validation": {"accuracy": 0.9375, "tags": ("O", "B-PER")}, "steps": 300}
    run.write_results(results)
    text = run.results_path.read_text()
    kept = {**results, "best_validation": {"accuracy": 0.9375, "tags": ["O", "B-PER"]}}
    assert run.results() == kept
    for place, old in enumerate(text):
        if old.isspace():
            continue
        run.results_path.write_text(text[:place] + ("1" if old != "1" else "2") + text[place + 1 :])
        try:
            found = run.results()
        except ValueError as error:
            assert str(run.results_path) in str(error)
        else:  # the key `checksum` itself has changed
            assert found.items() >= kept.items() and len(found) == 3, text[place:][:20]


def test_model_comes_back(run):
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    run.save_model(model)
    x = np.ones((1, 3), np.float32)
    np.testing.assert_array_equal(run.load_model()(x), model(x))
    assert run.is_trained
    run.write_results({"unfinished": {"unit": "epoch", "done": 0, "planned": 4}})
    assert not run.is_trained
    assert not [path for path in run.path.iterdir() if is_temporary(path.name)]


def test_a_failed_save_keeps_the_model_of_before(run):
    run.model_path.write_text("good")

    def save(path):
        path.write_text("half")
        raise OSError("No space left on device")

    with pytest.raises(OSError, match="No space left"):
        run.save_model(types.SimpleNamespace(save=save, compiled=False))
    assert run.model_path.read_text() == "good"
    assert not [path for path in run.path.iterdir() if is_temporary(path.name)]


def test_loading_a_model_that_is_not_there_or_torn(run):
    with pytest.raises(ValueError, match="not saved a model yet"):
        run.load_model()
    run.save_model(keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)]))
    run.model_path.write_bytes(run.model_path.read_bytes()[:-100])
    with pytest.raises(ValueError, match="model.keras is damaged"):
        run.load_model()


def test_a_model_with_code_inside_is_refused(run):
    shout = keras.layers.Lambda(lambda x: x + 1)
    run.save_model(keras.Sequential([keras.Input((3,)), shout]))
    with pytest.raises(ValueError, match="model.keras contains code"):
        run.load_model()


def test_vocabulary(run):
    run.vocabulary_path.write_text("<S>\n</S>\n<UNK>\nthe\n", encoding="utf-8")
    assert len(run.vocabulary()) == 4
    run.vocabulary_path.unlink()
    with pytest.raises(ValueError, match="vocabulary.txt"):
        run.vocabulary()


def test_a_folder_is_checked_without_changing_it(run, tmp_path):
    RunFolder.check_can_create(tmp_path / "new")
    assert not (tmp_path / "new").exists()
    with pytest.raises(ValueError, match="already contains a run"):
        RunFolder.check_can_create(run.path)
    RunFolder.check_can_create(run.path, overwrite=True)
    assert run.options_path.exists()


def asked(**given):
    return {"run": "r", "resume": False, "overwrite": False, "units": 8, "epochs": 3, **given}


def begin_run(*arguments, **options):
    """Returns the run that `RunFolder.open_for_training` yields."""
    with RunFolder.open_for_training(*arguments, **options) as earlier:
        return earlier


@pytest.fixture
def begun(tmp_path):
    return RunFolder.create(tmp_path / "run", "train-tagger", asked())


def test_a_new_run_begins_where_nothing_is(tmp_path):
    for resume in (False, True):
        path = tmp_path / "run"
        assert begin_run(path, "train-tagger", asked(resume=resume)) is None
        assert not path.exists()


def test_a_run_goes_on_with_its_own_options(begun):
    def begin(**given):
        return begin_run(begun.path, "train-tagger", asked(**given), {"epochs"})

    with pytest.raises(ValueError, match="already contains a run of `tfreps train-tagger`"):
        begin()
    assert begin(overwrite=True) is None and begun.options_path.exists()
    assert begin(resume=True).options == begun.options
    assert begin(resume=True, epochs=9, run="elsewhere").options["epochs"] == 3
    with pytest.raises(ValueError, match="started with different options: seed, units. Omit them"):
        begin(resume=True, units=9, seed=1)
    with pytest.raises(ValueError, match="is a run of `tfreps train-tagger`; expected a run of"):
        begin_run(begun.path, "train-classifier", asked(resume=True))


def test_a_run_of_before_an_option_was_there_goes_on_without_it(begun):
    def begin(defaults, **given):
        again = asked(resume=True, **given)
        return begin_run(begun.path, "train-tagger", again, defaults=defaults)

    assert begin({"l2": 0.0}, l2=0.0).options == begun.options
    with pytest.raises(ValueError, match="with different options: l2"):
        begin({"l2": 0.0}, l2=0.1)
    with pytest.raises(ValueError, match="with different options: units"):
        begin({"l2": 0.0, "units": 9}, l2=0.0, units=9)  # the stored value takes precedence


@pytest.mark.parametrize("again", [{"resume": True}, {"overwrite": True}])
def test_a_second_process_is_refused_beside_the_one_that_trains(begun, again):
    """The lock belongs to an open file, so a second one simulates another process."""
    with RunFolder.open_for_training(begun.path, "train-tagger", asked(resume=True)) as earlier:
        assert earlier.options == begun.options
        with pytest.raises(RunInUse, match=r"is in use: process \d+ .`tfreps train-tagger`. is"):
            begin_run(begun.path, "train-tagger", asked(**again))
        said = begun.add_evaluation("evaluate", {"f1": 1.0})
        assert "results.json was not written: " in said and f"process {os.getpid()} (" in said
        assert begun.results() == {}
    assert begin_run(begun.path, "train-tagger", asked(resume=True)).options == begun.options
    assert begun.add_evaluation("evaluate", {"f1": 1.0}) == f"Wrote {begun.results_path}."
    assert begun.results() == {"evaluation": {"f1": 1.0}}


def test_of_two_that_begin_the_second_is_refused(tmp_path):
    with RunFolder.open_for_training(tmp_path / "run", "train-tagger", asked()):
        with pytest.raises(RunInUse):
            begin_run(tmp_path / "run", "train-tagger", asked())
        RunFolder.create(tmp_path / "run", "train-tagger", asked())
    assert [path.name for path in (tmp_path / "run").glob("*.lock")] == []


def test_what_is_killed_in_mid_creation_is_still_a_run(begun, monkeypatch):
    """options.json of an earlier run is removed last; that of a new run is written first."""
    (begun.logs_path / "history.jsonl").write_text("")

    class Killed(Exception):
        pass

    def dies(*arguments, **options):
        raise Killed

    monkeypatch.setattr(run_folder.shutil, "rmtree", dies)
    with pytest.raises(Killed):
        RunFolder.create(begun.path, "train-tagger", asked(units=9), overwrite=True)
    assert RunFolder.open(begun.path).options == begun.options
    monkeypatch.undo()
    monkeypatch.setattr(run_folder.pathlib.Path, "mkdir", dies)
    with pytest.raises(Killed):
        RunFolder.create(begun.path, "train-tagger", asked(units=9), overwrite=True)
    monkeypatch.undo()
    RunFolder.check_can_create(begun.path, overwrite=True)


def test_names_stay_those_of_before(run):
    def writer(text):
        return lambda path: path.write_text(text)

    run.write_asset(run.tags_path, writer("O\nB-X\n"))
    run.write_asset(run.tags_path, writer("O\nB-X\n"))
    with pytest.raises(ValueError, match="tags.txt would change: the training data"):
        run.write_asset(run.tags_path, writer("O\n"))
    assert run.tags_path.read_text() == "O\nB-X\n"
    names = {path.name for path in run.path.iterdir()}
    assert names == {"manifest.json", "logs", "options.json", "tags.txt"}
    assert run.labels_path.name == "labels.txt" and run.plots_path.name == "plots"


def test_new_options_of_a_resumed_run_are_stored_when_asked(begun):
    before = begun.options_path.read_text()
    run = RunFolder.open(begun.path)
    run.set_options({**asked(resume=True, epochs=9), "l2": 0.0}, ["units"])
    assert begun.options_path.read_text() == before
    run.write_options()
    again = RunFolder.open(begun.path)
    assert again.options == {"run": "r", "units": 8, "epochs": 9, "l2": 0.0}
    assert again.unused == ["units"]
    written = begun.options_path.stat().st_mtime_ns
    again.write_options()  # nothing is new
    assert begun.options_path.stat().st_mtime_ns == written


def test_every_changed_letter_of_the_options_is_noticed(begun):
    begun.set_options({"tie_embeddings": True, "lowercase_fallback": False, "note": "as you like"})
    begun.write_options()
    original = begun.options_path.read_bytes()
    letters = [n for n, byte in enumerate(original) if chr(byte).isalpha()]
    for place in letters:
        changed = bytearray(original)
        changed[place] ^= 32
        begun.options_path.write_bytes(changed)
        with pytest.raises(ValueError, match="options.json"):
            RunFolder.open(begun.path)
    begun.options_path.write_bytes(original)
    assert RunFolder.open(begun.path).options["tie_embeddings"] and len(letters) > 80


def test_a_run_that_is_killed_while_its_options_change_can_be_opened(begun, monkeypatch):
    """Before the options change, the run is resumed without a record of them."""

    def dies(*arguments):
        raise KeyboardInterrupt

    begun.set_options({"epochs": 9})
    for name in "write_json", "record_asset":
        with monkeypatch.context() as patch:
            patch.setattr(run_folder, name, dies)
            with pytest.raises(KeyboardInterrupt):
                begun.write_options()
        assert RunFolder.open(begun.path).options["units"] == 8
    begun.write_options()
    assert set(read_manifest(begun.path)["assets"]) == {"options.json"}


@pytest.mark.parametrize("unused", [None, "units", [1], {}])
def test_open_refuses_wrong_names_of_unused_options(tmp_path, unused):
    (tmp_path / "options.json").write_text(json.dumps(head(unused=unused)))
    with pytest.raises(ValueError, match="was not written by a tfreps command"):
        RunFolder.open(tmp_path)


def test_the_record_of_the_data_belongs_to_the_run(run):
    record_data(run.path, {"train": []})
    assert run.path / MANIFEST in run_folder.run_files(run.path)
    RunFolder.create(run.path, "pretrain-elmo", {}, overwrite=True)
    assert not has_data(run.path)


def test_folders_that_are_no_run_folders(run, tmp_path):
    assert is_run_folder(run.path)
    assert not is_run_folder(tmp_path / "absent")
    (tmp_path / "options.json").write_text('{"lstm": {}}')  # a file of bilm-tf
    assert not is_run_folder(tmp_path)
    (tmp_path / "options.json").write_text("{")
    assert is_run_folder(tmp_path)
