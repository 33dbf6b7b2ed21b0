"""Changes of the answers when weights are stored in fewer bits."""

import re

from tests.exported_models import MAKERS
from tfreps.export import open_for_export, weight_changes


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
