"""Shared fixtures and settings: quiet TensorFlow, fixed seeds, a small corpus, data sets."""

import collections
import gc
import inspect
import os
import pathlib
import random
import sys

# Set before TensorFlow is imported. Tests run one process per core, so each needs one thread.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
# TensorFlow lowercases texts by the rules of this locale, in which I becomes ı: no result may
# depend on it. LC_ALL would take precedence.
os.environ["LC_CTYPE"] = os.environ.pop("LC_ALL", None) or os.environ.get("LC_CTYPE", "C.UTF-8")
os.environ["LC_MESSAGES"] = "tr_TR.UTF-8"

import hypothesis
import numpy as np
import pytest

# Traces of graphs allocate many objects, and `small_heap` collects after each file.
gc.set_threshold(20_000, 20, 50)

# Examples are the same in every run. `deadline` would depend on the speed of the machine.
hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None)
hypothesis.settings.load_profile("fixed")

CHECKOUT = pathlib.Path(__file__).resolve().parent.parent

# Three files of tokenized sentences. Words recur, two of them ("bank", "left") in two senses.
CORPUS = {
    "train-00.txt": """
The old bank of the river was covered with wet leaves .
She sat on the bank of the river and watched the boats .
The bank lent him money to buy a small house .
He put his money in the bank near the station .
Our dog runs along the river every morning .
The boats came back to the harbour before the storm .
A small dog slept under the table near the fire .
They watched the storm from the window of the house .
He wrote a letter to his sister about the storm .
The letter arrived after three weeks .
It didn't rain in the morning , but the river was high .
Nobody knew where the dog had gone .
Three boats were lost , and the harbour was closed .
The station is far from the river .
She will buy a ticket at the station in the morning .
""",
    "train-01.txt": """
The letter was written in a small and careful hand .
He held the ticket in his left hand .
They left the house before the rain came .
The train left the station at seven .
Her left hand was cold , so she sat by the fire .
A careful man keeps his money in a bank .
The river left its bank after the rain .
Every morning the train passes the old house .
My sister keeps two cats and a dog .
The cats slept by the window all day .
Where did you buy that old table ?
We watched the boats until it was dark .
The man at the station sold us a ticket .
It was a cold day , and the fire had gone out .
Do you know how far the harbour is ?
""",
    "heldout.txt": """
The dog sat by the river all day .
She wrote to the bank about the money .
They left the harbour in the morning .
His sister lost the ticket at the station .
The old man watched the fire and slept .
Did the boats come back after the storm ?
""",
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Marks all but the first variants of a test that is marked `few` as slow."""
    seen = collections.Counter()
    for item in items:
        few = item.get_closest_marker("few")
        if few:
            name = item.nodeid.partition("[")[0]
            seen[name] += 1
            if seen[name] > few.args[0]:
                item.add_marker("slow")


def pytest_runtest_setup(item):
    """Skips tests of 16-bit floats if ONEDNN_MAX_CPU_ISA restricts the instructions of oneDNN.

    TensorFlow 2.21 checks whether the CPU can multiply in bfloat16 and float16, but oneDNN
    follows the variable, so that `tf.matmul` of two such matrices crashes the process. A CPU
    without these instructions is not affected.
    """
    isa = os.environ.get("ONEDNN_MAX_CPU_ISA")
    if isa is None:
        return
    is_marked = item.get_closest_marker("bfloat16") is not None
    if is_marked or "float16" in item.nodeid + inspect.getsource(item.function):
        pytest.skip(
            f"TensorFlow's 16-bit matrix multiplications crash under ONEDNN_MAX_CPU_ISA={isa}"
        )


@pytest.fixture
def small_corpus(tmp_path):
    """Writes train-00.txt and train-01.txt (30 sentences) and heldout.txt (6) to a folder."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    for name, text in CORPUS.items():
        (folder / name).write_text(text.lstrip(), encoding="utf-8")
    return folder


@pytest.fixture
def tfreps_data():
    """Returns the folder of external data sets; skips the test if it does not exist."""
    folder = pathlib.Path(os.environ.get("TFREPS_DATA", CHECKOUT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"needs the data sets; TFREPS_DATA={folder} is not a folder")
    return folder


@pytest.fixture(autouse=True)
def fixed_seeds():
    """Sets the seeds before every test. Keras draws its seeds from `random`."""
    random.seed(0)
    np.random.seed(0)


@pytest.fixture(autouse=True, scope="session")
def float32_by_default():
    """Makes `--precision auto` mean float32 on every CPU, also in fixtures of modules."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("tfreps._src.models.precision.bfloat16_instructions", lambda: None)
        yield


@pytest.fixture(autouse=True)
def reset_policy():
    """Resets the dtype policy, which `--precision` of a command sets for the whole process."""
    yield
    if "keras" in sys.modules:
        sys.modules["keras"].config.set_dtype_policy("float32")


@pytest.fixture
def functions_run_eagerly():
    """Calls functions of `tf.function` eagerly, which is faster where each would be called once."""
    import tensorflow as tf

    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.fixture
def eager_if_quick(request):
    """Calls functions of `tf.function` eagerly, except in slow tests, which test the graphs."""
    if request.node.get_closest_marker("slow") is None:
        request.getfixturevalue("functions_run_eagerly")


@pytest.fixture
def floatx64():
    """Makes float64 the default dtype of Keras."""
    import keras

    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")  # `reset_policy` resets it
    yield
    keras.config.set_floatx("float32")


@pytest.fixture(autouse=True, scope="module")
def small_heap():
    """Clears the kernels of TensorFlow after each file, and freezes the remaining objects.

    `set_seed` clears the kernels. Doing so before every test would take a quarter of the time of
    all tests; not doing so would take much memory. Garbage collection skips frozen objects.
    """
    yield
    if "tensorflow" in sys.modules:
        sys.modules["tensorflow"].random.set_seed(0)
    gc.collect()
    gc.freeze()


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """Returns a `LocalHub` for the requests of `huggingface_hub`, whose caches are empty."""
    from huggingface_hub import constants

    from tests.presets.local_hub import LocalHub

    server = LocalHub()
    monkeypatch.setattr(constants, "ENDPOINT", server.url)
    template = server.url + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub_cache"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 10_000)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    for name in "NO_PROXY", "no_proxy":  # requests to the server never go through a proxy
        monkeypatch.setenv(name, "127.0.0.1")
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))
    yield server
    server.shutdown()
    server.server_close()
