"""Exports that the tests of this folder annotate records with."""

import pytest

from tests.exported_models import MAKERS, make_bert, make_trained
from tests.made_once import made_once
from tfreps._src.export.bilm_signatures import BiLMSignatures
from tfreps._src.export.embedder_signatures import EmbedderSignatures
from tfreps._src.export.labeling_signatures import TextSignatures
from tfreps.export import write_export

KINDS = {
    "tagger": lambda: make_trained("crf"),
    "classifier": lambda: make_trained("cnn"),
    "bert_tagger": lambda: make_bert("words"),
    "bilm": MAKERS["BiLM"],
    "embedder": lambda: make_trained("embedder"),
}
SIGNATURES = {"bilm": BiLMSignatures, "embedder": EmbedderSignatures}  # for others: text


@pytest.fixture(scope="session")
def export(tmp_path_factory):
    """Returns a function from a key of `KINDS` to the model and the folder of its version 1."""
    models = {}

    def get(kind):
        model = models.setdefault(kind, KINDS[kind]())
        signatures = SIGNATURES.get(kind, TextSignatures)

        def make(folder):
            write_export(signatures(model), folder)

        return model, str(made_once(tmp_path_factory, f"beam_{kind}", make))

    return get
