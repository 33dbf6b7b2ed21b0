"""Tests workers that read their own files: against one device, resumption, and mistakes."""

import glob
import pathlib
import subprocess
import sys
import types

import numpy as np
import pytest
import tensorflow as tf

from tests.conftest import CHECKOUT
from tests.training.workers.worker_programs import (
    LINES,
    check_identical,
    check_same_training,
    command,
    killed_after,
    run_program,
)
from tfreps._src.callbacks.checkpoint_file import save_checkpoint
from tfreps.training.options.training_options import check_worker_data
from tfreps.training.workers.data_share import DataShare, OwnBatches, data_share
from tfreps.training.workers.workers import Workers

FILES = ["--worker-data", "files"]


class Second(Workers):
    """The second of three workers. The values of the others are given."""

    def __init__(self, *values):
        self.size, self.index, self.values, self.same = 3, 1, list(values), []

    def check_same(self, values, expected):
        self.same.append(values)

    def sum(self, numbers):
        return np.asarray(numbers) + self.values.pop(0)

    def gather(self, value):
        first, last = self.values.pop(0)
        return [first, value, last]


@pytest.fixture
def share():
    return DataShare(Second(), divided=True)


@pytest.mark.parametrize("distribute, given", [(None, "None"), ("none", "none")])
def test_files_are_divided_among_workers(distribute, given):
    one = types.SimpleNamespace(distribute=distribute, worker_data="files", resume=False)
    with pytest.raises(ValueError, match=f"must be multiworker if .* files; got {given}"):
        check_worker_data(one)
    one = types.SimpleNamespace(distribute=distribute)
    check_worker_data(one)
    assert data_share(one).size == 1


def test_every_third_file(share):
    assert share.files(["a", "b", "c", "d", "e"]) == ["b", "e"]
    assert share.own == slice(1, None, 3)
    assert share.files(["/a/b", "c", "d"]) == ["c"]
    assert share.workers.same[-1] == {"`train`": ["b", "c", "d"]}


def test_fewer_files_than_workers(share):
    with pytest.raises(ValueError, match="`train` must match at least 3 files.*; got 2. Split"):
        share.files(["a", "b"])


def test_a_part_of_a_size(share):
    assert share.part("batch_size", 12) == 4 and share.part("batch_size", None) is None
    expected = "`batch_size` must be a multiple of 3.* got 10. The next such number is 12"
    with pytest.raises(ValueError, match=expected):
        share.part("batch_size", 10)


def test_counts_are_added():
    share = DataShare(Second(100, np.array([1, 2])), divided=True)  # in order of name
    found = share.total({"tokens": np.array([5, 6]), "number": 7})
    assert found["number"] == 107 and found["tokens"].tolist() == [6, 8]


def test_everything_without_division():
    share = DataShare(Second(), divided=False)
    batches = object()
    assert share.files(["a"]) == ["a"] and share.part("batch_size", 10) == 10
    assert share.total({"a": 1}) == {"a": 1} and share.batches(batches) is batches
    assert ["a", "b"][share.own] == ["a", "b"]
    assert share.seed(2**31) == 2**31


def test_workers_have_different_seeds():
    seeds = []
    for index in range(3):
        workers = Second()
        workers.index = index
        seeds.append(DataShare(workers, divided=True).seed(2**31 - 1))
    assert seeds == [2**31 - 1, 1_000_002, 2_000_005]


def test_a_run_of_another_number_of_workers(share, tmp_path):
    share.check_resumed(tmp_path)  # there is no checkpoint
    for number, positions in (1, [0, 0, 0]), (2, [0, 0]):
        state = {"position": {"data": {"workers": positions}}}
        save_checkpoint(tmp_path, number, {"w": np.ones(2)}, state)
        if number == 1:
            share.check_resumed(tmp_path)
    with pytest.raises(ValueError, match="it was started with: expected 2; got 3"):
        share.check_resumed(tmp_path)
    DataShare(Second(), divided=False).check_resumed(tmp_path)


class Numbers:
    """Epochs of 2 batches with the rows [epoch, batch]."""

    num_tokens = 8

    def num_batches(self, epoch=0):
        return 2

    def dataset(self, epoch=0, first_batch=0):
        rows = tf.constant([[[epoch, batch]] for batch in range(2)])
        return tf.data.Dataset.from_tensor_slices({"x": rows}).skip(first_batch)

    def state(self, epoch, batch):
        return [epoch, batch]

    def restore(self, state):
        self.restored = state


@pytest.mark.parametrize("first", [0, 1, 2, 3])
def test_batches_without_rows_at_the_end(first):
    batches = OwnBatches(Numbers(), Second(10, (1, 4)))
    assert batches.num_tokens == 18 and batches.num_batches(5) == 4
    found = [batch["x"].numpy().tolist() for batch in batches.dataset(5, first)]
    assert found == [[[5, 0]], [[5, 1]], [], []][first:]


def test_the_longest_worker_has_no_empty_batches():
    batches = OwnBatches(Numbers(), Second(10, (1, 2)))
    assert len(list(batches.dataset(0))) == batches.num_batches(0) == 2


def test_positions_of_all_workers():
    batches = OwnBatches(Numbers(), Second(0, ([9, 9], [7, 7])))
    state = batches.state(3, 1)
    assert state == {"workers": [[9, 9], [3, 1], [7, 7]]}
    batches.restore(state)
    assert batches.own.restored == [3, 1]


def elmo_line(folder):
    """Returns the command line of `pretrain-elmo`, with the text of its first file in two files."""
    line = LINES["pretrain-elmo"](folder)
    first = min((folder / "text").glob("train*.txt"))
    lines = first.read_text().splitlines(keepends=True)
    first.write_text("".join(lines[::2]))
    first.with_name("train-more.txt").write_text("".join(lines[1::2]))
    return line


def bert_line(folder):
    """Returns the command line of `pretrain-bert`, with more batches for worker 0 of two."""
    line = LINES["pretrain-bert"](folder)
    documents = (folder / "train.txt").read_text().split("\n\n")
    for number, part in enumerate([documents[:20], documents[20:25], documents[25:]]):
        (folder / f"train-{number}.txt").write_text("\n\n".join(part) + "\n")
    line[line.index("--train") + 1] = str(folder / "train-*.txt")
    return [*line, "--epochs", "2"]


@pytest.fixture(scope="module", params=[elmo_line, bert_line])
def line(request, tmp_path_factory):
    return request.param(tmp_path_factory.mktemp("data"))


@pytest.mark.slow
@pytest.mark.parametrize("workers", [2, 3])
def test_workers_train_like_one_device_on_their_joined_batches(line, workers, tmp_path):
    module = [sys.executable, "-m", "tests.training.workers.joined_shares", str(workers)]
    words = [*line, "--run", str(tmp_path / "one"), "--keep-checkpoints"]
    one = subprocess.run([*module, *words], cwd=CHECKOUT, capture_output=True)
    assert one.returncode == 0, one.stderr.decode()[-3000:]
    done = run_program([*line, *FILES], tmp_path / "run", workers=workers)
    check_same_training(tmp_path / "run", tmp_path / "one")
    texts = [text.replace("one:", "run:") for text in (done.stdout, one.stdout.decode())]
    counts = [[x for x in text.splitlines() if " tokens in " in x] for text in texts]
    assert counts[0] == counts[1] and counts[0]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds the workers in /proc")
def test_a_killed_run_resumes_bit_by_bit(line, tmp_path):
    line = [*line, *FILES, "--deterministic"]
    run_program(line, tmp_path / "whole", workers=2)
    code, messages, _ = killed_after(line, tmp_path / "run", 5, 1, workers=2)
    assert code == 137 and "Worker 1 was killed by SIGKILL" in messages
    for workers in 3, 1:
        other = command([*line, "--resume"], tmp_path / "run", workers=workers)
        done = subprocess.run(other, cwd=CHECKOUT, capture_output=True, text=True)
        assert done.returncode == 2, done.stderr[-2000:]
        expected = {
            3: "If --worker-data is files, a run must be resumed with the number of workers",
            1: "--distribute must be multiworker, with the number of workers",
        }
        assert expected[workers] in done.stderr, done.stderr[-2000:]
        assert "Traceback" not in done.stderr
    run_program([*line, "--resume"], tmp_path / "run", workers=2)
    check_identical(tmp_path / "run", tmp_path / "whole")


@pytest.mark.slow
def test_mistakes(line, tmp_path):
    one_file = [*line, *FILES]
    one_file[one_file.index("--train") + 1] = str(CHECKOUT / "README.md")
    odd = [*line, *FILES, "--batch-size" if "elmo" in line[0] else "--batch-tokens", "121"]
    for given, expected in (
        (one_file, "--train must match at least 2 files"),
        (odd, "multiple of 2"),
    ):
        done = subprocess.run(
            command(given, tmp_path / "run", workers=2),
            cwd=CHECKOUT,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 2 and expected in done.stderr, done.stderr[-2000:]
        assert "Traceback" not in done.stderr and not (tmp_path / "run").exists()


@pytest.mark.slow
def test_an_error_in_the_files_of_one_worker_ends_all(line, tmp_path):
    """The second file, which worker 1 reads, is not UTF-8."""
    given = [*line, *FILES]
    text = pathlib.Path(min(glob.glob(line[line.index("--train") + 1]))).read_bytes()
    for number, added in enumerate([b"", b"\xff\n"]):
        (tmp_path / f"part-{number}.txt").write_bytes(text + added)
    given[given.index("--train") + 1] = str(tmp_path / "part-*.txt")
    done = subprocess.run(
        command(given, tmp_path / "run", workers=2), cwd=CHECKOUT, capture_output=True, text=True
    )
    assert done.returncode == 2 and "Traceback" not in done.stderr
    errors = [text for text in done.stderr.splitlines() if ": error: " in text]
    assert sorted("[worker 1]" in text for text in errors) == [False, True], errors
    assert any("part-1.txt, line" in text for text in errors)
    assert any("Worker 1 of 2 has stopped with an error" in text for text in errors)
