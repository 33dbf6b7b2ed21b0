"""Files of `torch.save`: arrays, damaged files, and pickles that try to run code or take memory."""

import random
import sys
import time
import tracemalloc

import numpy as np
import pytest

from tests.conftest import CHECKOUT
from tests.convert.torch_bytes import (
    array_of,
    dict_of,
    file_of,
    name,
    number,
    state_dict,
    storage,
    text,
    tuple_of,
)
from tests.hostile.mutations import mutated
from tfreps._src.convert.torch_files import MOST_BYTES, REBUILD, START, open_torch

SIX = np.arange(6, dtype="<f4")
PYTORCH = CHECKOUT / "tests/convert/fixtures/state_dict.pkl"  # written by PyTorch 2.14
EVENTS = "import", "exec", "compile", "pickle.find_class", "os.system", "subprocess.Popen", "open"
seen = None  # events of Python while this is a list


def audit(event, arguments):
    if seen is not None and event in EVENTS:
        seen.append((event, *map(str, arguments[:1])))


sys.addaudithook(audit)


def opened(tmp_path, data):
    path = tmp_path / "encoder.pkl"
    path.write_bytes(data)
    return open_torch(path)


def test_a_file_of_pytorch():
    """A view, a transposed view, a row, and other types; three arrays share one storage."""
    found = open_torch(PYTORCH)
    w = np.arange(12, dtype="float32").reshape(3, 4)
    expected = {"w": w, "t": w.T, "b": w[1], "h": np.ones(3, "float16"), "n": np.int64(5)}
    expected["e"] = np.zeros([0, 3], "float32")
    assert found.shapes == {key: np.shape(value) for key, value in expected.items()}
    for key, value in expected.items():
        array = found.array(key)
        assert array.dtype == value.dtype and array.flags.c_contiguous and array.flags.writeable
        np.testing.assert_array_equal(array, value)


def test_the_writer_of_the_tests(tmp_path):
    arrays = {"a.weight": np.ones([2, 3]), "b": SIX, "c": np.zeros([4], "?")}
    found = opened(tmp_path, state_dict(arrays))
    for key, value in arrays.items():
        np.testing.assert_array_equal(found.array(key), value)


def whole(**changes):
    options = {"offset": 0, "shape": (2, 3), "strides": (3, 1), **changes}
    return file_of(
        dict_of(w=array_of(storage("0", "torch.FloatStorage", 6), **options)), {"0": SIX}
    )


def with_storage(stored, **changes):
    return file_of(dict_of(w=array_of(stored)), {"0": SIX}, **changes)


GOOD = storage("0", "torch.FloatStorage", 6)
CALL = name("posix.system") + tuple_of(text("touch pwned")) + b"R"


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "expected a file of `torch.save`"),
        (b"PK\x03\x04....", "has the form of PyTorch 1.6 and later"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git-lfs pointer"),
        (START, "ends within a pickle"),
        (START + b"\x80\x02K\x01.", "does not have version 1001"),
        (whole()[:-1], "describes .* bytes and has"),
        (whole() + b"\0", "describes .* bytes and has"),
        (whole(offset=1), "exceeds its storage of 6 elements"),
        (whole(offset=-1), "not natural numbers"),
        (whole(strides=(4, 1)), "exceeds its storage"),
        (whole(strides=(3, -1)), "not natural numbers"),
        (whole(shape=(2**40, 3), strides=(0, 1)), "exceeds its storage"),
        (whole(shape=(0, 2**61), strides=(0, 0), offset=2**61), "exceeds its storage"),
        (whole(strides=(1,)), "without a stride for each"),
        (whole(shape=(1,) * 40, strides=(1,) * 40), "too many dimensions"),
        (with_storage(storage("0", "torch.FloatStorage", 2**50)), "describes .* bytes and has"),
        (with_storage(storage("0", "torch.BFloat16Storage", 6)), "refers to torch.BFloat16Storage"),
        (with_storage(storage("0", "torch.FloatStorage", 6, text("x"))), "is a view"),
        (with_storage(storage("0", "collections.OrderedDict", 6)), "without a type or key"),
        (with_storage(number(3) + b"Q"), "something else than a storage"),
        (with_storage(number(3)), "an array without a storage"),
        (with_storage(GOOD, keys=[]), "does not match its arrays"),
        (with_storage(GOOD, keys=["0", "0"]), "does not match its arrays"),
        (with_storage(GOOD, machine=dict_of(little_endian=b"\x89")), "little-endian"),
        (with_storage(GOOD, machine=CALL), "refers to posix.system"),
        (file_of(CALL), "refers to posix.system, which is not a part of arrays"),
        (file_of(dict_of(w=name("builtins.eval"))), "refers to builtins.eval"),
        (file_of(dict_of(w=name("torch.FloatStorage") + b")R")), "calls torch.FloatStorage"),
        (file_of(dict_of(w=number(1))), "something else than a dict"),
        (file_of(b"N"), "something else than a dict"),
        (file_of(b"}K\x01K\x02s"), "keys are not strings"),
        (file_of(b"}(" + text("a") + b"u"), "keys are not strings"),
        (file_of(text("posix") + text("system") + b"\x93"), r"opcode b'\\x93'"),
        (file_of(name("torch.FloatStorage") + b")\x81"), r"opcode b'\\x81'"),
        (file_of(b"(iposix\nsystem\n"), "opcode b'i'"),
        (file_of(b"\x82\x01"), r"opcode b'\\x82'"),
        (file_of(name("torch.FloatStorage") + b"}b"), "changes something that is not a dict"),
        (file_of(number(1) + b")R"), "calls something that is not a function"),
        (file_of(b"h\x05"), "refers to a value that is not there"),
        (file_of(b"0"), "opcode b'0'"),
        (file_of(b"t"), "uses a group of values that is not there"),
        (file_of(b"(s"), "uses a value that is not there"),
        (file_of(b"}}"), "leaves values that nothing uses"),
        (file_of(b"X\x02\0\0\0\xff\xff"), "not UTF-8"),
        (file_of(b"c" + b"a" * 300), "has no end"),
        (file_of(b"X\xff\xff\xff\xff"), "ends within a pickle"),
        (file_of(b"\x80\x04}"), "has protocol 4"),
    ],
)
def test_files_that_are_refused(tmp_path, monkeypatch, data, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=f"encoder.pkl.*{message}"):
        opened(tmp_path, data)
    assert [path.name for path in tmp_path.iterdir()] == ["encoder.pkl"]


def test_a_storage_in_two_ways(tmp_path):
    other = storage("0", "torch.IntStorage", 6)
    data = file_of(dict_of(v=array_of(GOOD), w=array_of(other)), {"0": SIX})
    with pytest.raises(ValueError, match="describes storage '0' in two ways"):
        opened(tmp_path, data)


def test_sizes_next_to_the_data(tmp_path):
    data = whole()
    found = opened(tmp_path, data[:-32] + b"\x07" + data[-31:])
    with pytest.raises(ValueError, match="must have 6 elements; its data say 7"):
        found.array("w")


@pytest.mark.slow
@pytest.mark.parametrize(
    "bomb",
    [
        b"N" * MOST_BYTES,
        b"]q\0" + b"(h\0h\0t" * 100_000,
        b"(" * (MOST_BYTES - 200),
        b"K\1r\xff\xff\xff\xff" * 100_000,
        name(REBUILD[0]) + b"q\0(" + b"K\1" * 10**5 + b"tq\1" + b"h\0h\1R" * 10**5,
    ],
)
def test_time_and_memory_of_bombs(tmp_path, bomb):
    tracemalloc.start()
    clock = time.process_time()
    with pytest.raises(ValueError, match="encoder.pkl"):
        opened(tmp_path, file_of(bomb))
    assert tracemalloc.get_traced_memory()[1] < 2**26
    tracemalloc.stop()
    assert time.process_time() - clock < 20  # seconds; each takes about one


def test_mutants(tmp_path):
    """Each of 300 damaged files is refused or read, in memory that its size bounds."""
    global seen
    originals = [PYTORCH.read_bytes(), whole(), state_dict({"a": np.ones([20, 5], "f4"), "b": SIX})]
    path, read = tmp_path / "encoder.pkl", 0
    tracemalloc.start()
    for case in range(300):
        path.write_bytes(mutated(originals[case % 3], random.Random(case)))
        seen = []
        try:
            found = open_torch(path)
            for key in found.shapes:
                assert found.array(key).size <= path.stat().st_size
                read += 1
        except ValueError as error:
            assert "encoder.pkl" in str(error) and len(str(error)) < 1_000
        finally:
            events, seen = seen, None
        assert {event for event in events} <= {("open", str(path))}
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()
    assert read > 0  # changes of the data are not noticed
