"""Hostile weights: HDF5, safetensors and TensorFlow checkpoints."""

import contextlib
import gc
import json
import shutil

import h5py
import keras
import numpy as np
from safetensors.numpy import save_file

from tests import oracles
from tests.bilm_tf_run import training_arrays, training_options, write_training_folder
from tests.convert.bert_folders import USUAL, arrays_of, as_google, google, google_config
from tests.convert.bert_folders import hugging_face as hugging_face_folder
from tests.convert.many_langs_fixture import FOLDER
from tests.convert.test_aespresso_bert import state_dict
from tests.convert.test_pytorch_model import EARLY, in_pytorch
from tests.convert.torch_bytes import file_of, zip_of
from tests.convert.torch_bytes import state_dict as state_dict_bytes
from tests.hostile.folders import folder_format
from tfreps._src.callbacks.checkpoint_file import load_latest_checkpoint, save_checkpoint
from tfreps._src.convert import bilm_tf_checkpoint
from tfreps._src.convert.many_langs import read_many_langs
from tfreps._src.convert.torch_files import open_torch
from tfreps._src.data.labeled.sentence_vectors import SentenceVectors, token_digest
from tfreps._src.inference.embeddings_file import read_options
from tfreps.convert import read_transition_scores
from tfreps.inference import EmbeddingsFile
from tfreps.models import BertEncoder, BertPretrainer, BiLM, Classifier

TOKENS = ["a b c".split(), "d e".split()]
LENGTHS = [len(tokens) for tokens in TOKENS]


def forget(model):
    """Frees the memory of Keras's layer names and of reference cycles."""
    del model
    keras.backend.clear_session()
    gc.collect()


def write_bilm(folder, **changes):
    folder.mkdir()
    options = oracles.options_with(**changes)
    oracles.write_files(folder, options, oracles.random_weights(options))


def read_bilm(folder, random):
    if random.random() < 0.1:
        with contextlib.suppress(OSError, RuntimeError, KeyError):  # too corrupt to change
            sparse_arrays(folder / "weights.hdf5", random)
    forget(BiLM.from_pretrained(folder / "options.json", folder / "weights.hdf5"))


def sparse_arrays(path, random):
    """Writes arrays with huge declared sizes, dangling links and circular links."""
    with h5py.File(path, "a") as file:
        names = [name for name in file if random.random() < 0.7] or ["embedding"]
        name = random.choice(names)
        file.pop(name, None)
        what = random.randrange(5)
        if what == 0:
            size = random.choice([2**24, 2**40])
            file.create_dataset(name, (size, 4), "f4", chunks=(2**14, 4))
        elif what == 1:
            file[name] = h5py.SoftLink(f"/{name}")
        elif what == 2:
            file[name] = h5py.ExternalLink("/etc/passwd", "/")
        elif what == 3:
            file.create_dataset(name, (2, 4), h5py.string_dtype())
        else:
            file[name] = h5py.Empty("f4")


def write_checkpoint(folder):
    options = training_options()
    write_training_folder(folder, options, training_arrays(options))


def read_checkpoint(folder, random):
    forget(bilm_tf_checkpoint.read_training_folder(folder))


def read_bert(folder, random):
    model = random.choice([BertEncoder, BertPretrainer, Classifier])
    forget(model.from_pretrained(folder))


def read_aespresso(folder, random):
    forget(BertPretrainer.from_pretrained(folder / "model.safetensors"))


def write_aespresso(folder):
    folder.mkdir()
    state_dict(folder / "model.safetensors")


def write_two_files(folder):
    hugging_face_folder(folder, kind="BertForSequenceClassification", files="several")


def write_google(folder):
    google(folder, as_google(arrays_of(USUAL)), google_config(USUAL))


def write_resumable(folder):
    for step in 1, 2:
        save_checkpoint(folder, step, *resumable(step))


def resumable(step):
    arrays = {"w": np.ones([3, 4], "float32"), "n": np.int64(step), "b": np.array([True])}
    return arrays, {"seed": 1, "position": [1, step]}


def read_resumable(folder, random):
    found = load_latest_checkpoint(folder)
    if found is not None:
        arrays, state = resumable(found[0])
        assert found[0] in (1, 2) and found[2] == state and found[1].keys() == arrays.keys()
        assert all(np.array_equal(found[1][name], array) for name, array in arrays.items())


def write_vectors(folder):
    folder.mkdir()
    file = EmbeddingsFile(folder / "vectors.hdf5", {"layers": "all"})
    with file.open_window() as put:
        for number, length in enumerate(LENGTHS):
            put(number, np.ones([2, length, 4], "float32"))
    file.finish({"a b c": "0", "d e": "1"}, [token_digest(tokens) for tokens in TOKENS])


def read_vectors_of(folder, random):
    path = folder / "vectors.hdf5"
    if random.random() < 0.3:
        assert isinstance(read_options(path), dict)
        return
    vectors = SentenceVectors(path, TOKENS, LENGTHS)
    with vectors.open() as file:
        batch = vectors.read(file, np.arange(2), (2, 3))
    assert batch.shape == (2, vectors.num_layers, 3, vectors.dim)


def write_state_dict(folder, write=file_of):
    folder.mkdir()
    arrays = {"a.weight": np.ones([20, 5], "f4"), "b": np.arange(6.0), "c": np.zeros([], "i8")}
    (folder / "encoder.pkl").write_bytes(state_dict_bytes(arrays, write))


def write_zip(folder):
    write_state_dict(folder, zip_of)


def write_pytorch_model(folder):
    in_pytorch(hugging_face_folder(folder, EARLY))


def read_state_dict(folder, random):
    found = open_torch(folder / "encoder.pkl")
    for name, shape in found.shapes.items():
        assert found.array(name).shape == shape


def write_many_langs(folder):
    shutil.copytree(FOLDER / "words", folder, ignore=shutil.ignore_patterns("outputs.json"))


def read_many(folder, random):
    model, indexer = read_many_langs(folder)
    assert model.vocabulary_size == indexer.vocabulary_size
    forget(model)


def write_scores(folder):
    folder.mkdir()
    values = np.eye(3, dtype="float32"), np.ones(3, "float32"), np.zeros(3, "float32")
    arrays = dict(zip(("transitions", "start_scores", "end_scores"), values, strict=True))
    np.savez(folder / "crf.npz", **arrays)
    save_file(arrays, folder / "crf.safetensors")
    with h5py.File(folder / "crf.h5", "w") as file:
        file.update(arrays)
    by_tags = {"transitions": {"O": {"B": 1.5}, "I": {"O": 2}}, "start_scores": [0, 1, 2]}
    (folder / "crf.json").write_text(json.dumps(by_tags | {"end_scores": {"O": 1}}))


def read_scores(folder, random):
    found = sorted(folder.iterdir())
    scores = read_transition_scores(random.choice(found), ["O", "B", "I"])
    assert np.isfinite(scores.transitions).all()


FORMATS = [
    folder_format("HDF5 of bilm-tf", 1_500, write_bilm, read_bilm),
    folder_format("HDF5 of vectors", 6_000, write_vectors, read_vectors_of),
    folder_format("safetensors", 1_500, hugging_face_folder, read_bert),
    folder_format("safetensors, two files", 800, write_two_files, read_bert),
    folder_format("safetensors of aespresso", 600, write_aespresso, read_aespresso),
    folder_format("state dicts of PyTorch", 6_000, write_state_dict, read_state_dict, quick=True),
    folder_format("zip archives of PyTorch", 6_000, write_zip, read_state_dict, quick=True),
    folder_format("pytorch_model.bin", 600, write_pytorch_model, read_bert),
    folder_format("folders of ELMoForManyLangs", 600, write_many_langs, read_many),
    folder_format("checkpoints to resume from", 6_000, write_resumable, read_resumable),
    folder_format("checkpoints of bilm-tf", 600, write_checkpoint, read_checkpoint),
    folder_format("checkpoints of Google", 1_000, write_google, read_bert),
    folder_format("transition scores", 6_000, write_scores, read_scores, quick=True),
]
