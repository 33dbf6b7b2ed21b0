import subprocess
import sys
import unicodedata

import hypothesis
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import strategies

from tests.conftest import CHECKOUT
from tfreps._src.text.lower_case import lower_case

# Letters that a locale lowercases in its own way, marks that may follow them, letters whose lower
# case depends on their neighbors or is longer, and characters around them.
SPECIAL = (
    "IiİıJjĮįÌìÍíĨĩΣσςsSΑά.':_-1 \u00ad\u0300\u0301\u0303\u0307\u0323\u0328\u0345\u200dǅẞßꭰᏠ日K"
)


def is_old(character):
    """Returns whether all versions of Unicode since 3.2 agree on a character."""
    category = unicodedata.category(character)
    return category == unicodedata.ucd_3_2_0.category(character) not in ("Cn", "Cs")


def check(texts):
    found = [text.decode() for text in lower_case(tf.constant(texts)).numpy().tolist()]
    assert [pair for pair in zip(texts, found, strict=True) if pair[1] != pair[0].lower()] == []


def test_examples():
    assert tf.strings.lower("I", encoding="utf-8").numpy().decode() == "ı"  # see conftest.py
    check(["ISTANBUL", "İSTANBUL", "ISPARTA I", "ÌÍĨĮ", "I\u0300 J\u0301 \u012e\u0303", "ΟΔΟΣ ΣΑΣ"])
    assert lower_case(tf.constant("İI")).numpy().decode() == "i\u0307i"


LETTERS = strategies.sampled_from(SPECIAL) | strategies.characters(exclude_characters="\0")


@hypothesis.settings(max_examples=20)
@hypothesis.given(strategies.lists(strategies.text(LETTERS.filter(is_old), max_size=8), min_size=1))
def test_is_pythons(texts):
    check(texts)


def check_thoroughly():
    """Checks all characters, alone and around a sigma, and 100,000 texts of special letters."""
    old = [chr(code) for code in range(1, sys.maxunicode + 1) if is_old(chr(code))]
    for form in "{}", "a{}Σ", "aΣ{}a", "aΣ{}", "{}Σ":
        check([form.format(character) for character in old])
    rng = np.random.default_rng(0)
    letters = np.array(list(SPECIAL))
    check(["".join(rng.choice(letters, size)) for size in rng.integers(1, 9, 100_000)])


IN_A_LOCALE = """
import os, sys
import tensorflow as tf
from tests.text import test_lower_case

os.environ["LC_ALL"] = sys.argv[1]  # read when the first text is lowercased
test_lower_case.check_thoroughly()
sys.stdout.buffer.write(tf.strings.lower("IÌ", encoding="utf-8").numpy())
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "locale, lower",
    [("C.UTF-8", "iì"), ("tr_TR.UTF-8", "ıì"), ("az_AZ", "ıì"), ("lt_LT", "ii\u0307\u0300")],
)
def test_in_every_locale(locale, lower):
    command = [sys.executable, "-c", IN_A_LOCALE, locale]
    done = subprocess.run(command, capture_output=True, cwd=CHECKOUT)
    assert (done.stdout.decode(), done.returncode) == (lower, 0), done.stderr.decode()
