"""write_model_card: writes a README.md that describes published weights."""

import os
import pathlib
from collections.abc import Mapping

from tfreps.convert.bilm_tf_options import unlike_allennlp
from tfreps.files.atomic_files import write_text
from tfreps.files.model_card import MARK, ModelCard
from tfreps.models import BertEncoder, BertPretrainer, BiLM, Classifier, Tagger

NAME = "README.md"
_SIZES = {  # option of a model: its name in the card
    "num_layers": "Layers",
    "hidden_dim": "Width",
    "num_heads": "Attention heads",
    "intermediate_dim": "Width of the feed-forward networks",
    "units": "LSTM units",
    "projection_dim": "Projection",
    "max_positions": "Longest text, in pieces",
    "vocabulary_size": "Vocabulary",
}


def write_model_card(
    model: BiLM | BertEncoder | BertPretrainer | Classifier | Tagger,
    folder: str | os.PathLike,
    name: str | None = None,
    known: Mapping | None = None,
) -> bool:
    """Writes the model card of published weights to README.md.

    A README.md that tfreps did not write is left unchanged.

    Args:
        model: The model whose weights are in the folder.
        folder: str or path-like. The folder, which must exist.
        name: str. Name of the model. If `None`, the name of the folder is used. Defaults to
            `None`.
        known: dict. Further arguments of `tfreps.files.model_card.ModelCard`, such as the result
            of `tfreps.runs.run_card.run_card`. If `None`, none are passed. Defaults to `None`.

    Returns:
        bool. Whether the model card was written.

    Raises:
        OSError: If the file cannot be written.
    """
    path = pathlib.Path(folder, NAME)
    if path.exists() and MARK not in path.read_text(encoding="utf-8", errors="replace"):
        return False
    name = name or path.parent.resolve().name
    card = _bilm_card(model, name) if isinstance(model, BiLM) else _bert_card(model, name)
    write_text(path, ModelCard(name, **{**card, **(known or {})}).text())
    return True


def _bilm_card(bilm: BiLM, name: str) -> dict:
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


def _bert_card(model, name: str) -> dict:
    kind, task, description = _kind(model)
    encoder = model if isinstance(model, BertEncoder) else model.encoder
    classes = getattr(model, "labels", None) or getattr(model, "tags", None)
    return {
        "description": f"{description} The files are in the format of Hugging Face's transformers "
        f"(`{kind}`).",
        "load": f'import transformers\n\nmodel = transformers.{kind}.from_pretrained("{name}")\n'
        f'# With tfreps, for raw text: model = tfreps.load("{name}")',
        "sizes": {
            **_sizes(model, encoder),
            **({"Classes": ", ".join(map(str, classes))} if classes else {}),
        },
        "library": "transformers",
        "task": task,
        "tags": ["tfreps", "bert"],
    }


def _kind(model) -> tuple[str, str, str]:
    """Returns a tuple of the transformers class, the task on the model hub, and a description."""
    if isinstance(model, Tagger):
        description = "A BERT model that tags tokens."
        return "BertForTokenClassification", "token-classification", description
    if isinstance(model, Classifier):
        description = "A BERT model that labels texts."
        return "BertForSequenceClassification", "text-classification", description
    if isinstance(model, BertPretrainer):
        kind = "BertForPreTraining" if model.next_sentence else "BertForMaskedLM"
        return kind, "fill-mask", "A BERT model with its masked-LM head."
    return "BertModel", "feature-extraction", "A BERT encoder."


def _sizes(model, encoder) -> dict:
    config = encoder.get_config()
    sizes = {shown: config[key] for key, shown in _SIZES.items() if config.get(key) is not None}
    return {"Parameters": model.count_params(), **sizes}
