"""Options of files of labelled texts."""

import argparse

import pytest

from tfreps.cli.labelled_formats import OPTIONS, read_files
from tfreps.cli.option_rules import check_rules
from tfreps.cli.options import default_values


def options(**given):
    return argparse.Namespace(**{**default_values(OPTIONS), **given})


def test_columns_by_number(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text('"good"\t1\n\t0\n')
    texts = read_files([str(path)], options(text_field="0", label_field="1"))
    assert [(text.text, text.label) for text in texts] == [('"good"', "1"), ("", "0")]
    with pytest.raises(ValueError, match="Check `text_field`, `label_field` and `format`"):
        read_files([str(path)], options(text_field="5"))


@pytest.mark.parametrize("name, value", [("quotes", "text"), ("first_row", "data")])
def test_options_of_columns(name, value):
    check_rules(options(format="csv", **{name: value}), OPTIONS)
    with pytest.raises(ValueError, match="has no effect with --format json; it applies to tab"):
        check_rules(options(format="json", **{name: value}), OPTIONS)
