"""Checks of arguments."""

import numpy as np
import pytest

from tfreps._src.files import argument_checks as checks


@pytest.mark.parametrize(
    "check, message",
    [
        (lambda: checks.check_integers(1, units=0), "`units` must be at least 1; got 0"),
        (lambda: checks.check_integers(1, units=2.0), "`units` must be an integer; got 2.0"),
        (lambda: checks.check_integers(0, units=True), "`units` must be an integer; got True"),
        (lambda: checks.check_integers(1, a=None), "`a` must be an integer; got None"),
        (lambda: checks.check_integers(1, or_none=True, a=0), "`a` must be at least 1, or None"),
        (lambda: checks.check_dropout(a=0.5, dropout=1), "`dropout` must be at least 0 and below"),
        (lambda: checks.check_dropout(dropout=float("nan")), "below 1; got nan"),
        (lambda: checks.check_positive(l2=0.0), "`l2` must be above 0; got 0.0"),
        (lambda: checks.check_positive(or_none=True, c=-1), "`c` must be above 0, or None; got -1"),
        (lambda: checks.check_not_negative(l2=-0.5), "`l2` must be at least 0; got -0.5"),
        (lambda: checks.check_choice(("a", None), kind="b"), "must be one of a, or None; got 'b'"),
        (lambda: checks.check_names(tags=None), "`tags` must be a non-empty list"),
        (
            lambda: checks.check_names(tags=["a", "a"]),
            r"distinct, non-empty strings; got \['a', 'a'\]",
        ),
        (lambda: checks.check_names(tags=["a", ""]), "non-empty strings"),
    ],
)
def test_wrong_values_are_named(check, message):
    with pytest.raises(ValueError, match=message):
        check()


def test_right_values():
    checks.check_integers(1, a=1, b=np.int64(3))
    checks.check_integers(1, or_none=True, a=None)
    checks.check_dropout(dropout=0)
    checks.check_positive(or_none=True, clip=None)
    checks.check_choice(("a", None), kind=None)
    checks.check_names(tags=("a", "b"))
