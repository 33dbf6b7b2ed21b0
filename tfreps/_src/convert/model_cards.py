"""Writes a README.md that describes published weights."""

import os
import pathlib
from collections.abc import Mapping
from typing import Any

from tfreps._src.convert import hugging_face
from tfreps._src.convert.bert_families import ELECTRA, family_for
from tfreps._src.convert.bilm_tf_options import unlike_allennlp
from tfreps._src.convert.preset_model import is_hugging_face
from tfreps._src.files.atomic_files import write_text
from tfreps._src.files.model_card import MARK, ModelCard
from tfreps._src.models.any_bilm import AnyBiLM
from tfreps._src.models.bert import BertEncoder
from tfreps._src.models.bilm import BiLM
from tfreps._src.models.sentence_embedder import SentenceEmbedder
from tfreps._src.models.whole_model import WholeModel

NAME = "README.md"
_TASKS = {  # class of a model: its task on the model hub, and words that describe it
    "Tagger": ("token-classification", "model that tags tokens"),
    "HMMTagger": ("token-classification", "model that tags tokens"),
    "Classifier": ("text-classification", "model that labels texts"),
    "BertPretrainer": ("fill-mask", "model with its masked-LM head"),
    "SentenceEmbedder": ("sentence-similarity", "model that computes one vector per text"),
}
_ENCODER = ("feature-extraction", "encoder")
_SIZES = {  # option of a model: its name in the card
    "num_layers": "Layers",
    "hidden_dim": "Width",
    "num_heads": "Attention heads",
    "intermediate_dim": "Width of the feed-forward networks",
    "units": "LSTM units",
    "projection_dim": "Projection",
    "max_sequence_length": "Positions",
    "vocabulary_size": "Vocabulary",
}


def write_model_card(
    model: WholeModel,
    folder: str | os.PathLike[str],
    name: str | None = None,
    known: Mapping[str, Any] | None = None,
    preset: bool = False,
) -> bool:
    """Writes README.md, the model card of published weights; returns True if it was written.

    A README.md that tfreps did not write is left unchanged. `known` has further arguments of
    `ModelCard`. `preset` is True if `save_to_preset` wrote the folder.
    """
    path = pathlib.Path(folder, NAME)
    if path.exists() and MARK not in path.read_text(encoding="utf-8", errors="replace"):
        return False
    name = name or path.parent.resolve().name
    if preset and not is_hugging_face(model):
        card = _preset_card(model, name)
    elif isinstance(model, SentenceEmbedder):
        card = _embedder_card(model, name)
    else:
        card = _bilm_card(model, name) if isinstance(model, BiLM) else _bert_card(model, name)
    write_text(path, ModelCard(name, **{**card, **(known or {})}).text())
    return True


def _bilm_card(bilm: BiLM, name: str) -> dict[str, Any]:
    only_bilm_tf = unlike_allennlp(bilm.get_config())
    readers = "bilm-tf, which AllenNLP cannot load" if only_bilm_tf else "bilm-tf and AllenNLP"
    files = f'"{name}/options.json", "{name}/weights.hdf5"'
    return {
        "description": "A bidirectional language model (ELMo) that computes vectors for each token "
        f"of a sentence in its context. The files are in the format of {readers}.",
        "load": f'import tfreps\n\nvectors = tfreps.load("{name}")("A sentence .").vectors'
        + ("" if only_bilm_tf else f"\n# In AllenNLP: Elmo({files}, 1)"),
        "sizes": _sizes(bilm, bilm),
        "task": "feature-extraction",
        "tags": ["tfreps", "elmo"],
    }


def _bert_card(model: Any, name: str) -> dict[str, Any]:
    kind = hugging_face.layout(model).kind
    task, words = _TASKS.get(type(model).__name__, _ENCODER)
    encoder = model.find(BertEncoder)
    family = family_for(encoder.get_config())
    article = "An" if family is ELECTRA else "A"
    return {
        "description": f"{article} {family.title} {words}. The files are in the format of Hugging "
        f"Face's transformers (`{kind}`).",
        "load": f'import transformers\n\nmodel = transformers.{kind}.from_pretrained("{name}")\n'
        f'# With tfreps, for raw text: model = tfreps.load("{name}")',
        "sizes": _sizes(model, encoder),
        "library": "transformers",
        "task": task,
        "tags": ["tfreps", family.model_type],
    }


def _embedder_card(model: SentenceEmbedder, name: str) -> dict[str, Any]:
    task, words = _TASKS["SentenceEmbedder"]
    return {
        "description": f"A {words}. The files are in the format of sentence-transformers.",
        "load": f'import tfreps\n\nvectors = tfreps.load("{name}")(["A sentence."]).vectors\n'
        f'# In sentence-transformers: SentenceTransformer("{name}").encode(["A sentence."])',
        "sizes": _sizes(model, model.encoder),
        "library": "sentence-transformers",
        "task": task,
        "tags": ["tfreps", "sentence-transformers"],
    }


def _preset_card(model: WholeModel, name: str) -> dict[str, Any]:
    kind = type(model).__name__
    encoder = model.parts().get("encoder", model.parts().get("bilm", model))
    on = "" if encoder is model else f" on a {type(encoder).__name__}"
    return {
        "description": f"A {kind}{on} of tfreps, which runs on TensorFlow and Keras 3.",
        "load": f'import tfreps\n\nmodel = tfreps.load("{name}")  # reads raw text\n'
        f'# The Keras model: tfreps.models.{kind}.from_preset("{name}")',
        "sizes": _sizes(model, encoder),
        "task": _TASKS.get(kind, _ENCODER)[0],
        "tags": ["tfreps", *(["elmo"] if model.find(AnyBiLM) is not None else [])],
    }


def _sizes(model: Any, encoder: Any) -> dict[str, Any]:
    config = encoder.get_config()
    sizes = {shown: config[key] for key, shown in _SIZES.items() if config.get(key) is not None}
    names = {"Classes": ", ".join(model.classes)} if hasattr(model, "classes") else {}
    return {"Parameters": model.count_params(), **sizes, **names}
