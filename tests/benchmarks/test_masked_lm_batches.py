import json

import pytest

from benchmarks import masked_lm_batches

pytest.importorskip("tensorflow_text", reason="masked language modeling needs it")


@pytest.mark.slow
def test_small_text(capsys):
    line = ["--megabytes", "1", "--repeats", "2", "--max-length", "64"]
    assert masked_lm_batches.main(line) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["read_tokens_per_second"] > 0 and found["tokens"] > 100_000
    rates = found["batch_tokens_per_second_of_each_epoch"]
    assert len(rates) == 2 and min(rates) > 0
    assert min(rates) <= found["batch_tokens_per_second"] <= max(rates)


def test_every_word_has_pieces():
    tokenizer = masked_lm_batches.make_tokenizer()
    assert tokenizer.unknown_id not in tokenizer.ids("The unusualxyz getattr() method")
