"""Changes of the answers when weights are stored in fewer bits."""

import re

from tests.exported_models import MAKERS
from tfreps.export import open_for_export, weight_changes


def test_the_largest_differences():
    signatures = open_for_export(MAKERS["HMMTagger"]())
    assert weight_changes(signatures, "float32") == ""
    signatures = open_for_export(MAKERS["BertEncoder"]())
    found = weight_changes(signatures, "bfloat16")
    assert found.startswith("Storing the weights as bfloat16 changes, on 4 sentences, at most: ")
    changes = re.findall(r"(\w+) by (\S+) of (\S+)[,.]", found)
    assert [name for name, *_ in changes] == ["sequence_output", "pooled_output"]
    assert all(0 < float(change) < 0.1 * float(largest) for _, change, largest in changes)
