"""Changes of the answers when weights are stored in fewer bits."""

import re

from tests.exported_models import MAKERS
from tfreps.export import open_for_export, weight_changes
from tfreps.inference import TextBiLM
from tfreps.models import BiLM


def test_the_largest_differences():
    signatures = open_for_export(MAKERS["HMMTagger"]())
    assert weight_changes(signatures, "float32") == ""
    signatures = open_for_export(MAKERS["BertEncoder"]())
    found = weight_changes(signatures, "bfloat16")
    start = "Storing the weights as bfloat16 changes these outputs for 4 sentences: "
    assert found.startswith(start)
    changes = re.findall(r"(\w+) by at most (\S+) \(largest value (\S+)\)[,.]", found)
    assert [name for name, *_ in changes] == ["sequence_output", "pooled_output"]
    assert all(0 < float(change) < 0.1 * float(largest) for _, change, largest in changes)


def test_an_export_that_reads_token_ids():
    bilm = BiLM(units=32, projection_dim=32, num_layers=1, vocabulary_size=9)
    signatures = open_for_export(TextBiLM(bilm))
    assert "changes of the outputs were not measured" in weight_changes(signatures, "bfloat16")
    assert signatures.weights.stored
