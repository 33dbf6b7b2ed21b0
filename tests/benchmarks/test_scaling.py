import json
import types

import pytest

from benchmarks import scaling
from tfreps.models import BertEncoder, BertPretrainer


def row(workers, speed, **changes):
    return {
        "model": "bert",
        "workers": workers,
        "rows": 8,
        "steps_per_second": speed,
        "step_seconds": 1 / speed,
        "dense_bytes": 2_500_000,
        "sparse_bytes": 40_000,
        "reduce_seconds": 0.1,
        "bfloat16_reduce_seconds": 0.05,
        **changes,
    }


def test_table_shows_efficiency_and_share(capsys, monkeypatch):
    monkeypatch.setattr(scaling, "threads_per_worker", lambda count: 2)
    scaling.print_table([row(1, 2.0), row(2, 3.0), row(4, 2.0)], with_bfloat16=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].count("|") == lines[1].count("|") == lines[3].count("|")
    assert lines[4] == "| bert | 2 | 8 | 3.00 | 0.75 | 2.5 | 0.0 | 0.100 | 30% | 0.050 |"
    assert lines[-1] == "4 workers share 2 cores, so their efficiency cannot exceed 0.50."
    scaling.print_table([row(2, 3.0)])
    assert "| bert | 2 | 8 | 3.00 | - |" in capsys.readouterr().out


def test_each_row_runs_in_its_own_workers(capsys, monkeypatch):
    started = []

    def run_workers(command, addresses, environ, outputs):
        started.append((command[command.index("--measure") + 1], len(addresses)))
        assert environ["TF_NUM_INTRAOP_THREADS"] == environ["OMP_NUM_THREADS"] == "1"
        with open(command[command.index("--result") + 1], "w", encoding="utf-8") as file:
            json.dump(row(len(addresses), 2.0), file)
        return types.SimpleNamespace(code=0)

    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setattr(scaling, "run_workers", run_workers)
    assert scaling.main(["--workers", "1", "2", "--rows", "4"]) == 0
    assert started == [("bilm", 1), ("bilm", 2), ("bert", 1), ("bert", 2)]
    assert "1 thread per worker" in capsys.readouterr().out


def test_workers_that_fail_are_named(monkeypatch):
    failed = types.SimpleNamespace(code=1, failure="Worker 1 ended with exit code 1.")
    monkeypatch.setattr(scaling, "run_workers", lambda *_: failed)
    with pytest.raises(SystemExit, match="bert with 2 workers failed: Worker 1 ended"):
        scaling.main(["--workers", "2", "--model", "bert"])


def test_rows_that_the_workers_cannot_share(capsys):
    with pytest.raises(SystemExit):
        scaling.main(["--workers", "3", "--rows", "32"])
    assert "--workers must divide --rows, 32; got 3." in capsys.readouterr().err


@pytest.mark.slow
def test_bytes_of_a_dense_gradient_are_those_of_the_weights(capfd):
    from benchmarks import scaling_models as models

    arguments = ["--workers", "2", "--model", "bert", "--rows", "2", "--steps", "2"]
    assert scaling.main([*arguments, "--bfloat16-reduce"]) == 0
    lines = capfd.readouterr().out.splitlines()
    result = json.loads(next(line for line in lines if line.startswith("{")))
    encoder = BertEncoder(vocabulary_size=models.VOCABULARY, **models.BERT)
    weights = BertPretrainer(encoder).count_params()
    assert result["workers"] == 2 and result["sparse_bytes"] == 0
    assert 0 <= 4 * weights - result["dense_bytes"] < 1000  # `count_params` counts metrics, too
    assert result["reduce_seconds"] > 0 and result["bfloat16_reduce_seconds"] > 0
