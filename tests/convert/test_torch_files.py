"""Files of `torch.save`: arrays, damaged files, and pickles that try to run code or take memory."""

import random
import sys
import time
import tracemalloc

import ml_dtypes
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
    zip_of,
)
from tests.hostile.mutations import mutated
from tfreps._src.convert.torch_arrays import REBUILD
from tfreps._src.convert.torch_files import MOST_BYTES, START, open_torch

SIX = np.arange(6, dtype="<f4")
PYTORCH = CHECKOUT / "tests/convert/fixtures/state_dict.pkl"  # written by PyTorch 2.14
PYTORCH_ZIP = PYTORCH.with_suffix(".pt")  # the same and bfloat16, in the newer form
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


@pytest.mark.parametrize("path", [PYTORCH, PYTORCH_ZIP])
def test_a_file_of_pytorch(path):
    """A view, a transposed view, a row, and other types; three arrays share one storage."""
    found = open_torch(path)
    w = np.arange(12, dtype="float32").reshape(3, 4)
    expected = {"w": w, "t": w.T, "b": w[1], "h": np.ones(3, "float16"), "n": np.int64(5)}
    expected["e"] = np.zeros([0, 3], "float32")
    if path is PYTORCH_ZIP:
        expected["f"] = np.array([1.5, -0.0078125], "float32")  # stored as bfloat16
    assert found.shapes == {key: np.shape(value) for key, value in expected.items()}
    for key, value in expected.items():
        array = found.array(key)
        assert array.dtype == value.dtype and array.flags.c_contiguous and array.flags.writeable
        np.testing.assert_array_equal(array, value)


@pytest.mark.parametrize("write", [file_of, zip_of])
def test_the_writer_of_the_tests(tmp_path, write):
    arrays = {"a.weight": np.ones([2, 3]), "b": SIX, "c": np.zeros([4], "?")}
    arrays["d"] = np.array([1.5, 2], ml_dtypes.bfloat16)
    found = opened(tmp_path, state_dict(arrays, write))
    for key, value in arrays.items():
        np.testing.assert_array_equal(found.array(key), value)


@pytest.mark.parametrize("write", [file_of, zip_of])
def test_a_state_dict_within_a_checkpoint(tmp_path, write):
    """A parameter, which has its gradient's flag and hooks, and attributes of the dict."""
    parameter = tuple_of(array_of(GOOD), b"\x88", b"N")
    parameter = name("torch._utils._rebuild_parameter") + parameter + b"R"
    state = dict_of(w=parameter) + dict_of(_metadata=dict_of()) + b"b"
    data = write(dict_of(epoch=number(3), model_state_dict=state), {"0": SIX})
    found = opened(tmp_path, data)
    np.testing.assert_array_equal(found.array("w"), SIX.reshape(2, 3))
    assert [*found.shapes] == ["w"]


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
        (b"PK\x03\x04....", "the file is a damaged zip archive"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git-lfs pointer"),
        (START, "ends within a pickle"),
        (START + b"\x80\x02K\x01.", "does not have version 1001"),
        (whole()[:-1], "describes .* bytes, but has"),
        (whole() + b"\0", "describes .* bytes, but has"),
        (whole(offset=1), "exceeds its storage of 6 elements"),
        (whole(offset=-1), "not natural numbers"),
        (whole(strides=(4, 1)), "exceeds its storage"),
        (whole(strides=(3, -1)), "not natural numbers"),
        (whole(shape=(2**40, 3), strides=(0, 1)), "exceeds its storage"),
        (whole(shape=(0, 2**61), strides=(0, 0), offset=2**61), "exceeds its storage"),
        (whole(strides=(1,)), "with a different number of strides"),
        (whole(shape=(1,) * 40, strides=(1,) * 40), "too many dimensions"),
        (with_storage(storage("0", "torch.FloatStorage", 2**50)), "describes .* bytes, but has"),
        (with_storage(storage("0", "torch.QInt8Storage", 6)), "refers to torch.QInt8Storage"),
        (with_storage(storage("0", "torch.FloatStorage", 6, text("x"))), "is a view"),
        (with_storage(storage("0", "collections.OrderedDict", 6)), "without a type or key"),
        (with_storage(number(3) + b"Q"), "an invalid reference to a storage: expected a tuple"),
        (with_storage(number(3)), "an array without a storage"),
        (with_storage(GOOD, keys=[]), "does not match the arrays"),
        (with_storage(GOOD, keys=["0", "0"]), "does not match the arrays"),
        (with_storage(GOOD, machine=dict_of(little_endian=b"\x89")), "little-endian"),
        (with_storage(GOOD, machine=CALL), "refers to posix.system"),
        (file_of(CALL), "refers to posix.system, which is not used to store arrays"),
        (file_of(dict_of(w=name("builtins.eval"))), "refers to builtins.eval"),
        (file_of(dict_of(w=name("torch.FloatStorage") + b")R")), "calls torch.FloatStorage"),
        (file_of(dict_of(w=number(1))), "something other than a dict"),
        (file_of(b"N"), "something other than a dict"),
        (file_of(b"}K\x01K\x02s"), "keys are not strings"),
        (file_of(b"}(" + text("a") + b"u"), "keys are not strings"),
        (file_of(text("posix") + text("system") + b"\x93"), r"opcode b'\\x93'"),
        (file_of(name("torch.FloatStorage") + b")\x81"), r"opcode b'\\x81'"),
        (file_of(b"(iposix\nsystem\n"), "opcode b'i'"),
        (file_of(b"\x82\x01"), r"opcode b'\\x82'"),
        (file_of(name("torch.FloatStorage") + b"}b"), "changes something that is not a dict"),
        (file_of(number(1) + b")R"), "calls something that is not a function"),
        (file_of(b"h\x05"), "refers to a value that does not exist"),
        (file_of(b"0"), "opcode b'0'"),
        (file_of(b"t"), "uses a group of values that does not exist"),
        (file_of(b"(s"), "uses a value that does not exist"),
        (file_of(b"}}"), "ends with unused values"),
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
    with pytest.raises(ValueError, match="states 7 elements for storage .*; expected 6"):
        opened(tmp_path, data[:-32] + b"\x07" + data[-31:])


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
    """Each of 600 damaged files is refused or read, in memory that its size bounds."""
    global seen
    arrays = {"a": np.ones([20, 5], "f4"), "b": SIX}
    originals = [PYTORCH.read_bytes(), whole(), state_dict(arrays), PYTORCH_ZIP.read_bytes()]
    originals += [zip_of(dict_of(w=array_of(GOOD)), {"0": SIX}), state_dict(arrays, zip_of)]
    path, read = tmp_path / "encoder.pkl", 0
    tracemalloc.start()
    for case in range(600):
        path.write_bytes(mutated(originals[case % 6], random.Random(case)))
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
