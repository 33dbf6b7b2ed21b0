import types

import pytest

from tfreps.cli.distribute_options import (
    check_accumulation,
    check_rows,
    data_share,
    only_chief_prints,
    open_workers,
    scope,
)

OPTIONS = types.SimpleNamespace(distribute=None, batch_size=6)


def test_one_device_is_the_default():
    assert open_workers(OPTIONS).size == 1
    with scope(OPTIONS):
        check_rows("--batch-size", 7, OPTIONS)


def test_flags_are_named():
    wrong = types.SimpleNamespace(distribute="mirrored")
    with pytest.raises(ValueError, match="^`distribute`: mirrored needs at least two GPUs"):
        open_workers(wrong)


@pytest.mark.parametrize("distribute, given", [(None, "--distribute is not"), ("none", "got --d")])
def test_files_are_divided_among_workers(distribute, given):
    one = types.SimpleNamespace(distribute=distribute, worker_data="files", resume=False)
    with pytest.raises(ValueError, match=f"requires --distribute multiworker; {given}"):
        data_share(one)


def test_a_size_that_does_not_divide_is_an_error(monkeypatch):
    four = types.SimpleNamespace(num_replicas_in_sync=4)
    monkeypatch.setattr("tfreps.cli.distribute_options.open_strategy", lambda *_: four)
    check_rows("--batch-size", 8, OPTIONS)
    expected = "^--batch-size must be a multiple of 4, .*; got 6. The next such number is 8.$"
    with pytest.raises(ValueError, match=expected):
        check_rows("--batch-size", 6, OPTIONS)


def test_accumulated_gradients_are_an_error_on_several_replicas(monkeypatch):
    check_accumulation(4, OPTIONS)
    two = types.SimpleNamespace(num_replicas_in_sync=2)
    monkeypatch.setattr("tfreps.cli.distribute_options.open_strategy", lambda *_: two)
    check_accumulation(1, OPTIONS)
    with pytest.raises(ValueError, match="^--gradient-accumulation-steps must be 1 on 2 replicas"):
        check_accumulation(4, OPTIONS)


def test_only_worker_0_prints(capsys):
    for is_chief in (True, False):
        with only_chief_prints(types.SimpleNamespace(is_chief=is_chief)):
            print(f"chief: {is_chief}")
    assert capsys.readouterr().out == "chief: True\n"
