"""What weights in fewer bits do to the answers."""

import re

from tests.exported_models import MAKERS
from tfreps.export import weight_changes


def test_the_largest_differences(tmp_path):
    signatures = MAKERS["HMMTagger"]()(assets=str(tmp_path))
    assert weight_changes(signatures, "float32") == ""
    signatures = MAKERS["BertEncoder"]()(assets=str(tmp_path))
    found = weight_changes(signatures, "bfloat16")
    assert found.startswith("Weights as bfloat16 change the answers to 4 sentences at most so: ")
    changes = re.findall(r"(\w+) by (\S+) of (\S+)[,.]", found)
    assert [name for name, *_ in changes] == ["sequence_output", "pooled_output"]
    assert all(0 < float(change) < 0.1 * float(largest) for _, change, largest in changes)
