import contextlib
import types

import pytest

from tfreps._src.runs.run_folder import RunFolder
from tfreps.training.workers.worker_runs import SharedRuns, WorkerRun


class OtherRuns(SharedRuns):
    """The run folders of worker 1, whose fellow workers have no errors."""

    is_writer = False

    def __init__(self):
        nothing = contextlib.nullcontext
        self.workers = types.SimpleNamespace(
            together=nothing,
            only_chief_prints=nothing,
            naming_lost_workers=nothing,
            check_same=lambda values, expected: None,
        )


def snapshot(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_worker_writes_nothing_into_the_folder(tmp_path):
    RunFolder.create(tmp_path / "run", "train-tagger", {"seed": 1})
    before = snapshot(tmp_path)
    run = WorkerRun.open(tmp_path / "run", "train-tagger")
    run.write_asset(run.tags_path, lambda path: path.write_text("O"))
    run.write_results({"steps": 1})
    run.set_options({"seed": 2})
    run.write_options()
    saved = []
    run.save_model(
        types.SimpleNamespace(
            compiled=False, save=lambda path: saved.append(path.write_bytes(b"x"))
        )
    )
    assert saved == [1] and not run.is_writer
    assert snapshot(tmp_path) == before
    assert not run.logs_path.is_relative_to(tmp_path)


def test_other_workers_open_what_worker_0_created(tmp_path):
    with pytest.raises(ValueError, match="must be on a disk that all workers share"):
        OtherRuns().create(tmp_path / "run", "train-tagger", {})
    RunFolder.create(tmp_path / "run", "train-tagger", {"seed": 1})
    run = OtherRuns().create(tmp_path / "run", "train-tagger", {})
    assert isinstance(run, WorkerRun) and run.options == {"seed": 1}


def test_other_workers_check_the_folder_without_locking_it(tmp_path):
    options = {"resume": False, "overwrite": False, "seed": 1}
    given = tmp_path / "run", "train-tagger", options, (), None
    with OtherRuns().open_for_training(*given) as earlier:
        assert earlier is None and not (tmp_path / "run").exists()
    RunFolder.create(tmp_path / "run", "train-tagger", {"seed": 1})
    with pytest.raises(ValueError, match="already contains a run"):
        OtherRuns().open_for_training(*given).__enter__()
    options["resume"] = True
    with OtherRuns().open_for_training(*given) as earlier:
        assert isinstance(earlier, WorkerRun)


def test_a_disk_error_is_shared_with_the_other_workers(tmp_path, monkeypatch):
    """Without this, the others would wait for a worker that has ended."""

    def fail(*args):
        raise PermissionError(13, "Permission denied", "run")

    @contextlib.contextmanager
    def together():
        try:
            yield
        except OSError as error:
            shared.append(error)
            raise

    monkeypatch.setattr(WorkerRun, "find_run_to_resume", fail)
    runs, shared = OtherRuns(), []
    runs.workers.together = together
    options = {"resume": False, "overwrite": False}
    with pytest.raises(PermissionError):
        runs.open_for_training(tmp_path / "run", "train-tagger", options, (), None).__enter__()
    assert len(shared) == 1
