"""Every program that trains gives the same results on replicas, on workers and on one device."""

import json
import signal
import sys

import pytest

from tests.closeness import assert_close
from tests.training.workers.worker_programs import (
    LINES,
    check_identical,
    check_same_training,
    killed_after,
    run_program,
    tagger_line,
)
from tfreps.__main__ import main


@pytest.fixture(scope="module", params=LINES)
def program(request, tmp_path_factory):
    """Returns the command line of a program, and the folder of its run on one device."""
    folder = tmp_path_factory.mktemp(request.param)
    line = LINES[request.param](folder)
    run_program(line, folder / "one")
    return line, folder / "one"


@pytest.mark.slow
def test_two_workers_train_like_one_process(tmp_path):
    line = [*tagger_line(tmp_path, sizes=(21, 8, 6), epochs=1), "--no-use-crf"]  # compiles faster
    assert main([*line, "--keep-checkpoints", "--run", str(tmp_path / "one")]) == 0
    done = run_program(line, tmp_path / "two", workers=2)
    check_same_training(tmp_path / "two", tmp_path / "one")
    assert done.stdout.count("Wrote ") == 1  # only worker 0 prints
    results = [json.loads((tmp_path / r / "results.json").read_text()) for r in ("one", "two")]
    measured = [found["validation"] for found in results]
    for name in ("calibration_error", "temperature"):  # of scores, which differ by rounding
        assert_close(measured[1].pop(name), measured[0].pop(name))
    assert measured[0] == measured[1]
    names = [sorted(p.name for p in (tmp_path / run).iterdir()) for run in ("one", "two")]
    assert names[0] == names[1]


@pytest.mark.slow
@pytest.mark.parametrize("how", [{"replicas": 2}, {"replicas": 4}, {"workers": 2}, {"workers": 3}])
def test_replicas_and_workers_train_like_one_device(program, how, tmp_path):
    line, expected = program
    run_program(line, tmp_path / "run", **how)
    check_same_training(tmp_path / "run", expected)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds the workers in /proc")
@pytest.mark.parametrize("worker", [0, 1])
def test_a_killed_worker_ends_all_and_the_run_resumes_bit_by_bit(program, worker, tmp_path):
    line, _ = program
    line = [*line, "--deterministic"]
    run_program(line, tmp_path / "whole", workers=2)
    code, messages, seconds = killed_after(line, tmp_path / "run", 5, worker, workers=2)
    assert code == 137 and f"Worker {worker} was killed by SIGKILL" in messages
    assert seconds < 30
    run_program([*line, "--resume"], tmp_path / "run", workers=2)
    check_identical(tmp_path / "run", tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds the workers in /proc")
def test_a_signal_to_one_worker_stops_all_after_the_same_step(tmp_path):
    line = [*LINES["pretrain-elmo"](tmp_path), "--deterministic", "--checkpoint-every", "1"]
    run_program(line, tmp_path / "whole", workers=2)
    # TensorFlow runs between steps in worker 1, which receives the signal; worker 0 agrees.
    code, messages, _ = killed_after(line, tmp_path / "run", 5, 1, signal.SIGTERM, workers=2)
    assert code == 143 and "stopped by SIGTERM at step" in messages
    run_program([*line, "--resume"], tmp_path / "run", workers=2)
    check_identical(tmp_path / "run", tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds the workers in /proc")
@pytest.mark.parametrize("then", [{"workers": 3}, {"replicas": 4}, {}])
def test_a_killed_run_resumes_on_another_number_of_workers(program, then, tmp_path):
    line, expected = program
    killed_after(line, tmp_path / "run", 5, 1, workers=2)
    run_program([*line, "--resume"], tmp_path / "run", **then)
    check_same_training(tmp_path / "run", expected)
