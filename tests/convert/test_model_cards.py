"""Published weights have a model card, and a README.md of other origin is never replaced."""

import pytest
import yaml

from tfreps._src.convert.model_cards import write_model_card
from tfreps.models import BertEncoder, BertPretrainer, BiLM, Classifier, Tagger

SIZES = {"vocabulary_size": 12, "hidden_dim": 8, "num_layers": 2, "num_heads": 2}


def encoder(pooler=True):
    return BertEncoder(**SIZES, pooler=pooler)


MODELS = {
    "BertModel": (encoder, "feature-extraction"),
    "BertForPreTraining": (lambda: BertPretrainer(encoder()), "fill-mask"),
    "BertForMaskedLM": (lambda: BertPretrainer(encoder(False), next_sentence=False), "fill-mask"),
    "BertForSequenceClassification": (
        lambda: Classifier(encoder(), ["bad", "good"], "pooled_output"),
        "text-classification",
    ),
    "BertForTokenClassification": (
        lambda: Tagger(encoder(False), ["O", "B-X"], use_crf=False),
        "token-classification",
    ),
}


@pytest.mark.parametrize("kind", MODELS)
def test_cards_of_berts(kind, tmp_path):
    make, task = MODELS[kind]
    model, folder = make(), tmp_path / "my-bert"
    model.save_pretrained(folder)
    text = (folder / "README.md").read_text()
    assert yaml.safe_load(text.split("---\n")[1]) == {
        "license": "unknown",
        "library_name": "transformers",
        "pipeline_tag": task,
        "tags": ["tfreps", "bert"],
    }
    assert f'transformers.{kind}.from_pretrained("my-bert")' in text and "# my-bert\n" in text
    assert f"| Parameters | {model.count_params():,} |" in text
    assert "| Layers | 2 |" in text and "| Width | 8 |" in text and "| Vocabulary | 12 |" in text
    names = getattr(model, "labels", getattr(model, "tags", None))
    assert (f"| Classes | {', '.join(names)} |" in text) if names else "Classes" not in text


def test_the_card_of_a_bilm(tmp_path):
    bilm = BiLM(filters=[[1, 4]], units=8, projection_dim=4, num_highways=1)
    bilm.save_pretrained(tmp_path / "elmo")
    text = (tmp_path / "elmo" / "README.md").read_text()
    assert 'tfreps.load("elmo")' in text and "| LSTM units | 8 |\n| Projection | 4 |" in text
    assert "Not recorded" in text and "Not measured." in text


def test_own_cards_are_replaced_and_others_are_not(tmp_path):
    model = encoder()
    model.save_pretrained(tmp_path)
    known = {"training": {"seed": 7}, "metrics": {"validation": {"f1": 0.5}}}
    assert write_model_card(model, tmp_path, "better", known)
    text = (tmp_path / "README.md").read_text()
    assert (
        "# better\n" in text
        and "| `seed` | `7` |" in text
        and "| validation | f1 | 0.5000 |" in text
    )
    (tmp_path / "README.md").write_text("My own words.")
    assert not write_model_card(model, tmp_path)
    model.save_pretrained(tmp_path)
    assert (tmp_path / "README.md").read_text() == "My own words."
