"""Hostile models: `.keras` files, SavedModel folders, model configs, histories."""

import gc
import pathlib
import shutil
import zipfile

import keras

from tests.hostile.folders import changed, folder_format
from tests.hostile.format import Format
from tests.hostile.mutations import mutated
from tests.serving.server.small_models import save_half, write_warm_up
from tfreps._src.plots.curves import read_history
from tfreps.models import BiLSTMEncoder, Classifier, Tagger, TextCNN, TokenEmbedder
from tfreps.runs import RunFolder
from tfreps.serving import BatchOptions, ServerOptions
from tfreps.serving.server.models.model_configs import from_folders, read_config_file, read_policy
from tfreps.serving.server.models.servable import Servable

TAGS = ["O", "B-PER", "I-PER"]


def runs(folder):
    """Returns the parts of the `.keras` files of two small models, by the name of the model."""
    found = {}
    for model in (
        Tagger(BiLSTMEncoder(TokenEmbedder(12, 4), 3), TAGS, "bio", name="tagger"),
        Classifier(TextCNN(TokenEmbedder(12, 4), 5), ["bad", "good"], name="classifier"),
    ):
        run = RunFolder.create(folder / "run", "train-tagger", {})
        run.save_model(model)
        with zipfile.ZipFile(run.model_path) as archive:
            parts = {pathlib.PurePath(n): archive.read(n) for n in archive.namelist()}
        found[model.name] = parts, run.model_path.read_bytes()
        shutil.rmtree(folder / "run")
    return found


def keras_files(ready, random, folder):
    """Writes a corrupt archive, or a valid one with a corrupt part."""
    parts, data = ready[random.choice(sorted(ready))]
    run = RunFolder.create(folder / "run", "train-tagger", {})
    try:
        if random.random() < 0.4:
            run.model_path.write_bytes(mutated(data, random))
        else:
            broken = random.choice(sorted(parts))
            with zipfile.ZipFile(run.model_path, "w") as archive:
                for name, content in parts.items():
                    content = changed(name, content, random) if name == broken else content
                    archive.writestr(str(name), content)
        run.load_model()
    finally:
        shutil.rmtree(folder / "run")
        keras.backend.clear_session()
        if random.random() < 0.1:
            gc.collect()
    return True


def write_export(folder):
    save_half(folder)
    write_warm_up(folder)


def read_export(folder, random):
    batching = BatchOptions(max_batch_size=random.choice([0, 0, 8]))
    Servable(folder, ServerOptions(batching=batching))
    if random.random() < 0.1:
        gc.collect()


CONFIG = """
model_config_list {
  config {
    name: "ner"
    base_path: "models/ner"
    model_platform: "tensorflow"
    model_version_policy { specific { versions: 3 versions: 4 } }
    version_labels { key: "stable" value: 3 }
  }
  config {
    name: "half" base_path: 'models/half'
    model_version_policy { latest { num_versions: 2 } }
  }
}
"""


def bases(folder):
    for name in "ner", "half":
        (folder / "models" / name / "3").mkdir(parents=True)


def model_configs(ready, random, folder):
    data = mutated(CONFIG.encode(), random)
    if random.random() < 0.05:
        data = random.choice([b"{", b"a {", b"model_config_list {", b"["]) * 20_000
    path = folder / "models.config"
    path.write_bytes(data)
    try:
        if random.random() < 0.1:
            text = data.decode("utf-8", "replace")
            read_policy(text[random.randrange(len(text) + 1) :][:20].strip())
            return bool(from_folders(["models/ner"], [text[-30:]], [text[:30]]))
        found = read_config_file(path)
    finally:
        path.unlink()
    return bool(found)


HISTORY = '{"step": 10, "run": "train", "loss": 1.5}\n{"step": 20, "run": "train", "loss": NaN}\n'


def histories(ready, random, folder):
    path = folder / "history.jsonl"
    path.write_bytes(mutated(HISTORY.encode(), random))
    try:
        found = read_history(path)
    finally:
        path.unlink()
    assert all(isinstance(line, dict) and {"step", "run"} <= set(line) for line in found)
    return True


FORMATS = [
    Format("models.config", 6_000, bases, model_configs, quick=True),
    Format("history.jsonl", 4_000, lambda folder: None, histories, quick=True),
    Format(".keras files", 600, runs, keras_files, seconds=20, megabytes=512),
    folder_format("SavedModel folders", 1_500, write_export, read_export, seconds=20),
]
