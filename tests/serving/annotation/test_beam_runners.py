"""Runners are found by name, and failures of pipelines become one sentence."""

import logging
import threading

import pytest

pytest.importorskip("apache_beam", reason="needs Apache Beam (make test-beam)")

import apache_beam as beam
from apache_beam.metrics import Metrics
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner

from tfreps.serving.annotation import beam_runners
from tfreps.serving.annotation.beam_runners import (
    LostWorkerError,
    counts,
    run_pipeline,
    worker_message,
)


def run(work, workers=1):
    def build(runner):
        pipeline = beam.Pipeline(runner, PipelineOptions([f"--direct_num_workers={workers}"]))
        _ = pipeline | beam.Create([1, 2, 3]) | beam.Map(work)
        return pipeline

    return run_pipeline(build, "local", workers)


def test_runners_by_name(monkeypatch):
    assert type(beam_runners.make_runner("local")) is FnApiRunner
    assert type(beam_runners.make_runner("FlinkRunner")).__name__ == "FlinkRunner"
    with pytest.raises(
        ValueError, match="`runner` must be one of local, DataflowRunner,.*; got 'x'"
    ):
        beam_runners.make_runner("x")

    def fail(name):
        raise ImportError("no module named google")

    monkeypatch.setattr(beam_runners, "create_runner", fail)
    with pytest.raises(ValueError, match=r"DataflowRunner needs a package .*apache-beam\[gcp\]"):
        beam_runners.make_runner("DataflowRunner")


@pytest.mark.parametrize("workers", [1, 2])
def test_counters(workers):
    def work(number):
        Metrics.counter("tfreps", "tokens").inc(number)
        Metrics.counter("other", "rejected").inc(number)

    found = counts(run(work, workers), ("tokens", "rejected"))
    assert found == {"tokens": 6, "rejected": 0}


@pytest.mark.parametrize("workers", [1, 2])
def test_the_error_of_a_worker_is_one_line(workers):
    def work(number):
        raise OSError(f"no space for {number}")

    with pytest.raises(RuntimeError, match=r"^no space for \d$"):
        run(work, workers)
    assert worker_message(ValueError("")) == "ValueError"
    assert worker_message(ValueError("plain")) == "plain"


def test_a_worker_process_that_dies():
    def work(number):
        import os

        os._exit(3)

    hook = threading.excepthook
    with pytest.raises(LostWorkerError):
        run(work, workers=2)
    assert threading.excepthook is hook


class Cancelled:
    """Pipeline whose run a user has cancelled."""

    def run(self):
        return self

    def wait_until_finish(self):
        return "CANCELLED"


def test_a_pipeline_that_does_not_end_well():
    with pytest.raises(
        RuntimeError,
        match="the pipeline must end in the state DONE; it ended in the state CANCELLED",
    ):
        run_pipeline(lambda runner: Cancelled(), "local")


def fail_in_a_thread():
    thread = threading.Thread(target=lambda: 1 / 0)
    thread.start()
    thread.join()


def test_the_log_is_quiet_unless_it_is_asked_for(monkeypatch, capsys):
    before = logging.getLogger("apache_beam").level
    with beam_runners.quiet():
        logging.getLogger("apache_beam").error("not printed")
        fail_in_a_thread()
    assert capsys.readouterr().err == ""
    assert logging.getLogger("apache_beam").level == before
    assert beam_runners.worker_command("folder").endswith('"folder" 2>/dev/null')
    monkeypatch.setenv("TFREPS_DEBUG", "1")
    errors = []
    monkeypatch.setattr(threading, "excepthook", lambda given: errors.append(given.exc_type))
    with beam_runners.quiet():
        fail_in_a_thread()
    assert errors == [ZeroDivisionError]
    assert beam_runners.worker_command("folder").endswith('.local_worker "folder"')
