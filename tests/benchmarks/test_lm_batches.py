import json

import pytest

from benchmarks import lm_batches


@pytest.mark.slow
def test_prints_json(capsys):
    assert lm_batches.main(["--megabytes", "1", "--repeats", "1", "--shuffle"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["tokens_per_second"] > 0
    assert 0.05 < result["unknown_share"] < 0.2
