"""Writes a README.md that describes published weights."""

import os
import pathlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from tfreps._src.convert import hugging_face
from tfreps._src.convert.bert_families import ELECTRA, family_for
from tfreps._src.convert.bilm_tf_options import unlike_allennlp
from tfreps._src.convert.preset_model import is_hugging_face
from tfreps._src.files.atomic_files import write_text
from tfreps._src.files.model_card import model_card, table
from tfreps._src.models.any_bilm import AnyBiLM
from tfreps._src.models.bert import BertEncoder
from tfreps._src.models.bilm import BiLM
from tfreps._src.models.sentence_embedder import SentenceEmbedder
from tfreps._src.models.whole_model import WholeModel

NAME = "README.md"
MARK = "This card was written by tfreps."
_CARD = """\
{description}

## Load it

```python
{load}
```

## Size

{sizes}"""
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


class _Format(NamedTuple):
    """Format of published weights, with placeholders for the names of the model and its parts."""

    library: str
    description: str
    load: str


_PRESET = _Format(
    "tfreps",
    "A {kind}{on} of tfreps, which runs on TensorFlow and Keras 3.",
    'import tfreps\n\nmodel = tfreps.load("{name}")  # reads raw text\n'
    '# The Keras model: tfreps.models.{kind}.from_preset("{name}")',
)
_EMBEDDER = _Format(
    "sentence-transformers",
    "A {words}. The files are in the format of sentence-transformers.",
    'import tfreps\n\nvectors = tfreps.load("{name}")(["A sentence."]).vectors\n'
    '# In sentence-transformers: SentenceTransformer("{name}").encode(["A sentence."])',
)
_BILM_TF = _Format(
    "tfreps",
    "A bidirectional language model (ELMo) that computes vectors for each token of a sentence in "
    "its context. The files are in the format of bilm-tf, which AllenNLP cannot load.",
    'import tfreps\n\nvectors = tfreps.load("{name}")("A sentence .").vectors',
)
_ALLENNLP = _Format(
    "tfreps",
    _BILM_TF.description.replace(", which AllenNLP cannot load", " and AllenNLP"),
    _BILM_TF.load + '\n# In AllenNLP: Elmo("{name}/options.json", "{name}/weights.hdf5", 1)',
)
_BERT = _Format(
    "transformers",
    "{family} {words}. The files are in the format of Hugging Face's transformers (`{kind}`).",
    'import transformers\n\nmodel = transformers.{kind}.from_pretrained("{name}")\n'
    '# With tfreps, for raw text: model = tfreps.load("{name}")',
)


def write_model_card(
    model: WholeModel,
    folder: str | os.PathLike[str],
    name: str | None = None,
    known: Mapping[str, Any] | None = None,
    preset: bool = False,
) -> bool:
    """Writes README.md, the model card of published weights; returns True if it was written.

    A README.md that tfreps did not write is left unchanged. `known` has further arguments of
    `model_card`. `preset` is True if `save_to_preset` wrote the folder.
    """
    path = pathlib.Path(folder, NAME)
    if path.exists() and MARK not in path.read_text(encoding="utf-8", errors="replace"):
        return False
    name = name or path.parent.resolve().name
    form, encoder, tags, values = _format(model, preset)
    task, words = _TASKS.get(type(model).__name__, _ENCODER)
    values |= {"name": name, "words": words}
    body = _CARD.format(
        description=form.description.format(**values),
        load=form.load.format(**values),
        sizes=table(("", ""), _sizes(model, encoder)),
    )
    card = model_card(name, body, form.library, task, ["tfreps", *tags], **(known or {}))
    write_text(path, f"{card}\n{MARK}\n")
    return True


def _format(model: Any, preset: bool) -> tuple[_Format, Any, list[str], dict[str, str]]:
    """Returns a format, the encoder of the model, tags, and the values of the placeholders."""
    kind = type(model).__name__
    if preset and not is_hugging_face(model):
        encoder = model.parts().get("encoder", model.parts().get("bilm", model))
        on = "" if encoder is model else f" on a {type(encoder).__name__}"
        tags = [] if model.find(AnyBiLM) is None else ["elmo"]
        return _PRESET, encoder, tags, {"kind": kind, "on": on}
    if isinstance(model, SentenceEmbedder):
        return _EMBEDDER, model.encoder, ["sentence-transformers"], {}
    if isinstance(model, BiLM):
        only_bilm_tf = unlike_allennlp(model.get_config())
        return _BILM_TF if only_bilm_tf else _ALLENNLP, model, ["elmo"], {}
    encoder = model.find(BertEncoder)
    family = family_for(encoder.get_config())
    title = f"{'An' if family is ELECTRA else 'A'} {family.title}"
    kind = hugging_face.layout(model).kind
    return _BERT, encoder, [family.model_type], {"kind": kind, "family": title}


def _sizes(model: Any, encoder: Any) -> list[tuple[str, str]]:
    """Returns the rows of the table of sizes."""
    config = encoder.get_config()
    sizes = {"Parameters": model.count_params()}
    sizes |= {shown: config[key] for key, shown in _SIZES.items() if config.get(key) is not None}
    names = [("Classes", ", ".join(model.classes))] if hasattr(model, "classes") else []
    return [*((shown, f"{size:,}") for shown, size in sizes.items()), *names]
