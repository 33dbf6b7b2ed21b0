import pytest

from tfreps._src.cli import commands as command
from tfreps._src.presets.preset_table import rows


def test_the_table(capsys):
    assert command.main(["presets"]) == 0
    printed = capsys.readouterr().out
    assert all(f"\n{name} " in printed for name in rows())
    assert "93.6M" in printed and "374.4 MB" in printed


def test_the_facts_of_a_row(capsys):
    assert command.main(["presets", "elmo_small"]) == 0
    printed = capsys.readouterr().out
    assert "\nlanguage: English\ntokens: words as tokenizer.perl of Moses separates" in printed
    assert "weights.hdf5 (54,402,456 bytes, checksum 747ba97a" in printed
    assert "\nnot verified: whether the URLs still work; " in printed
    assert "\nread in: allenai/allennlp-website elmo.html" in printed


@pytest.mark.parametrize("name", ["elmo", "hf://a/b"])
def test_a_name_that_is_none(capsys, name):
    assert command.main(["presets", name]) == 2
    assert "NAME must be a name in the table of 'tfreps presets'; got " in capsys.readouterr().err
