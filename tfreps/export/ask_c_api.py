"""Runs a SavedModel through TensorFlow's C API, which C, C++, Go and Rust programs use.

    python -I ask_c_api.py JOB.json ANSWERS.json

This file imports nothing from tfreps or from TensorFlow's Python package; it loads the shared
library of the installed wheel. The job names the tensors, which the caller has read from
saved_model.pb:

    {"folder": ..., "texts": [...], "needs_text": false, "signatures": {"default": {
     "input": "serving_default_text:0", "outputs": {"tags": "StatefulPartitionedCall:1"}}}}

If `needs_text` is true, the operations of tensorflow-text are loaded from its wheel. The answers
contain the version of TensorFlow and, for each signature, the shape and the values of each output.
"""

import ctypes
import importlib.util
import json
import pathlib
import sys

STRING = 7  # TF_STRING
STRING_SIZE = 24  # bytes of a TF_TString
READ_AS = {1: ctypes.c_float, 2: ctypes.c_double, 3: ctypes.c_int32, 9: ctypes.c_int64}
READ_AS[10] = ctypes.c_bool
RETURNS = {
    "TF_NewStatus": ctypes.c_void_p,
    "TF_LoadLibrary": ctypes.c_void_p,
    "TF_Message": ctypes.c_char_p,
    "TF_NewSessionOptions": ctypes.c_void_p,
    "TF_NewGraph": ctypes.c_void_p,
    "TF_LoadSessionFromSavedModel": ctypes.c_void_p,
    "TF_GraphOperationByName": ctypes.c_void_p,
    "TF_AllocateTensor": ctypes.c_void_p,
    "TF_TensorData": ctypes.c_void_p,
    "TF_Dim": ctypes.c_int64,
    "TF_StringGetDataPointer": ctypes.c_void_p,
    "TF_StringGetSize": ctypes.c_size_t,
    "TF_Version": ctypes.c_char_p,
}


class Output(ctypes.Structure):
    """C struct TF_Output, which names a tensor of the graph."""

    _fields_ = [("operation", ctypes.c_void_p), ("index", ctypes.c_int)]


def main(job_path, answers_path):
    job = json.loads(pathlib.Path(job_path).read_text(encoding="utf-8"))
    library = load_library()
    status = pointer(library.TF_NewStatus())
    for path in text_libraries() if job["needs_text"] else ():
        library.TF_LoadLibrary(str(path).encode(), status)
        check(library, status)
    graph, session = load_model(library, job["folder"], status)
    answers = {
        name: ask(library, graph, session, signature, job["texts"], status)
        for name, signature in job["signatures"].items()
    }
    version = library.TF_Version().decode()
    found = {"version": version, "answers": answers}
    pathlib.Path(answers_path).write_text(json.dumps(found), encoding="utf-8")
    if "tensorflow" in sys.modules:
        raise RuntimeError("TensorFlow's Python package was imported; expected only its C API.")


def load_library():
    """Loads the C API of the installed TensorFlow wheel."""
    folder = package("tensorflow")
    ctypes.CDLL(str(next(folder.glob("libtensorflow_framework.*"))), ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(str(next(folder.glob("libtensorflow_cc.*"))), ctypes.RTLD_GLOBAL)
    for name, kind in RETURNS.items():
        getattr(library, name).restype = kind
    return library


def text_libraries():
    """Returns the paths of the libraries that contain the operations of tensorflow-text."""
    return sorted((package("tensorflow_text") / "python" / "ops").glob("_*.so"))


def package(name):
    """Returns the folder of an installed package without importing it."""
    found = importlib.util.find_spec(name)
    if found is None:
        raise OSError(f"{name} is not installed for {sys.executable}. Install it there.")
    return pathlib.Path(found.submodule_search_locations[0])


def load_model(library, folder, status):
    graph = pointer(library.TF_NewGraph())
    options = pointer(library.TF_NewSessionOptions())
    tags = (ctypes.c_char_p * 1)(b"serve")
    session = library.TF_LoadSessionFromSavedModel(
        options, None, folder.encode(), tags, 1, graph, None, status
    )
    check(library, status)
    return graph, pointer(session)


def ask(library, graph, session, signature, texts, status):
    """Runs one signature and returns a dict with the shape and the values of each output."""
    names = list(signature["outputs"])
    places = [place(library, graph, signature["outputs"][name]) for name in names]
    given = (ctypes.c_void_p * 1)(string_tensor(library, texts).value)
    taken = (ctypes.c_void_p * len(names))()
    library.TF_SessionRun(
        *(session, None, (Output * 1)(place(library, graph, signature["input"])), given, 1),
        *((Output * len(names))(*places), taken, len(names)),
        *(None, 0, None, status),
    )
    check(library, status)
    return {name: read(library, pointer(tensor)) for name, tensor in zip(names, taken)}  # noqa: B905


def place(library, graph, name):
    operation, _, index = name.partition(":")
    found = library.TF_GraphOperationByName(graph, operation.encode())
    if not found:
        raise RuntimeError(f"The SavedModel has no operation {operation!r} for tensor {name!r}.")
    return Output(found, int(index or 0))


def string_tensor(library, texts):
    """Creates a TF_Tensor of strings of shape `[N]`."""
    shape = (ctypes.c_int64 * 1)(len(texts))
    size = ctypes.c_size_t(STRING_SIZE * len(texts))
    tensor = pointer(library.TF_AllocateTensor(STRING, shape, 1, size))
    start = library.TF_TensorData(tensor)
    for number, text in enumerate(texts):
        one = pointer(start + number * STRING_SIZE)
        data = text.encode("utf-8")
        library.TF_StringInit(one)
        library.TF_StringCopy(one, data, ctypes.c_size_t(len(data)))
    return tensor


def read(library, tensor):
    """Returns the shape and the values of a TF_Tensor."""
    shape = [library.TF_Dim(tensor, axis) for axis in range(library.TF_NumDims(tensor))]
    count = 1
    for size in shape:
        count *= size
    start = library.TF_TensorData(tensor)
    kind = library.TF_TensorType(tensor)
    if kind == STRING:
        values = [read_string(library, start + n * STRING_SIZE) for n in range(count)]
    else:
        values = list((READ_AS[kind] * count).from_address(start)) if count else []
    return {"shape": shape, "values": values}


def read_string(library, address):
    data = library.TF_StringGetDataPointer(pointer(address))
    size = library.TF_StringGetSize(pointer(address))
    return ctypes.string_at(data, size).decode("utf-8", "replace")


def pointer(address):
    """Returns an address as a pointer, since ctypes would pass an int as a 32-bit integer."""
    return ctypes.c_void_p(address)


def check(library, status):
    if library.TF_GetCode(status):
        raise RuntimeError(library.TF_Message(status).decode())


if __name__ == "__main__":
    main(*sys.argv[1:])
