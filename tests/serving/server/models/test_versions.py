"""Tests versions that appear, disappear, break and are repaired."""

import threading

import pytest

from tfreps.serving.server.models.model_configs import ModelConfig, VersionPolicy
from tfreps.serving.server.models.model_pool import ServedModel
from tfreps.serving.server.requests.serving_error import ServingError


def load(folder):
    """Returns the content of the model file in a folder; raises ValueError if there is none."""
    if not (folder / "model").exists():
        raise ValueError("torn")
    return (folder / "model").read_text()


@pytest.fixture
def base(tmp_path):
    return tmp_path / "m"


def add(base, number, text=None):
    (base / str(number)).mkdir(parents=True, exist_ok=True)
    if text is not None:
        (base / str(number) / "model").write_text(text)


def make(base, load=load, **options):
    model = ServedModel(ModelConfig("m", str(base), **options), load)
    model.refresh()
    return model


def states(model):
    return {number: state for number, state, _ in model.status()}


def test_the_newest_serves(base):
    add(base, 1, "one")
    model = make(base)
    add(base, 2, "two")
    assert states(model) == {1: "AVAILABLE"}
    model.refresh()
    assert states(model) == {2: "AVAILABLE", 1: "END"}
    with model.lease() as (number, text):
        assert (number, text) == (2, "two")
    with pytest.raises(ServingError, match=r"Specific\(m, 1\)"), model.lease(1):
        pass


def test_the_old_one_ends_what_it_has_begun(base):
    add(base, 1, "one")
    model = make(base)
    add(base, 2, "two")
    with model.lease() as (number, text):
        model.refresh()
        assert states(model) == {2: "AVAILABLE", 1: "UNLOADING"}
        assert (number, text) == (1, "one")
        with model.lease() as (newer, _):
            assert newer == 2
    assert states(model)[1] == "END"


def test_the_old_one_serves_while_the_new_one_is_loaded(base):
    begun, go_on = threading.Event(), threading.Event()

    def slowly(folder):
        if folder.name == "2":
            begun.set()
            assert go_on.wait(10)
        return load(folder)

    add(base, 1, "one")
    model = make(base, slowly)
    add(base, 2, "two")
    thread = threading.Thread(target=model.refresh)
    thread.start()
    assert begun.wait(10)
    assert states(model) == {2: "LOADING", 1: "AVAILABLE"}
    with model.lease() as (number, _):
        assert number == 1
    go_on.set()
    thread.join()
    assert model.available == [2]


def test_a_torn_version_is_told_and_tried_again_when_it_changes(base):
    calls = []
    add(base, 1, "one")
    model = make(base, lambda folder: (calls.append(folder.name), load(folder))[1])
    add(base, 2)
    for _ in range(3):
        model.refresh()
    assert calls == ["1", "2"]
    assert states(model) == {2: "END", 1: "AVAILABLE"}
    error = model.status()[0][2]
    assert error.message == "torn" and error.code == "INVALID_ARGUMENT"
    add(base, 2, "two")
    model.refresh()
    assert states(model) == {2: "AVAILABLE", 1: "END"}
    assert model.status()[0] == (2, "AVAILABLE", None)


def test_the_next_best_one_serves_from_the_start(base):
    for number, text in ((1, "one"), (2, None), (3, None)):
        add(base, number, text)
    model = make(base)
    assert states(model) == {3: "END", 2: "END", 1: "AVAILABLE"}


def test_rolling_back(base):
    add(base, 1, "one")
    add(base, 2, "two")
    model = make(base)
    (base / "2" / "model").unlink()
    (base / "2").rmdir()
    model.refresh()
    assert states(model) == {1: "AVAILABLE"}
    add(base, 2, "two again")
    model.refresh()
    with model.lease() as (number, text):
        assert (number, text) == (2, "two again")


def test_the_last_one_stays_when_its_folder_goes(base):
    add(base, 1, "one")
    model = make(base)
    (base / "1" / "model").unlink()
    (base / "1").rmdir()
    model.refresh()
    assert model.available == [1]


def test_labels_keep_their_versions(base):
    for number in (1, 2, 3):
        add(base, number, str(number))
    model = make(base, labels={"stable": 1, "gone": 9})
    assert model.available == [1, 3]
    with pytest.raises(ServingError, match="Servable not found"), model.lease(9):
        pass


def test_all_versions(base):
    for number in (1, 2):
        add(base, number, str(number))
    assert make(base, policy=VersionPolicy(latest=0)).available == [1, 2]


def test_no_versions(tmp_path):
    model = make(tmp_path / "nowhere")
    assert model.status() == []
    add(tmp_path / "nowhere", 1, "x")
    model.refresh()
    assert model.status() == [(1, "AVAILABLE", None)]
