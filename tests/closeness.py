"""Compares floats in tests: bounds in units of rounding, and a record of the share that is used."""

import collections
import math
import os
import sys

import numpy as np

# Distance from 1 to the next larger number.
FLOAT64, FLOAT32, FLOAT16, BFLOAT16 = 2.0**-52, 2.0**-23, 2.0**-10, 2.0**-7
ROOM = 4.0  # a comparison may use a quarter of its bound, on any CPU
RECORD = "TFREPS_MARGINS"  # environment variable with the file that shares are appended to


def assert_close(actual, expected, *, terms=64, magnitude=None, unit=FLOAT32, name=""):
    """Asserts that `actual` equals `expected`, except for rounding.

    The error of a sum of n rounded terms grows as sqrt(n) (Higham and Mary, "A new approach to
    probabilistic rounding error analysis", 2019), so that no element may differ by more than

        4 * unit * magnitude * sqrt(terms)

    of which it should use a quarter at most: `make test-margins` lists the tightest comparisons.
    A comment at the call gives the reason for values that are not the defaults. Estimates from
    samples and printed digits do not differ by rounding: `pytest.approx` compares those.

    Args:
        actual, expected: Arrays, numbers, sequences or dicts of them, of equal shapes and keys.
            `expected` may also be one number for all elements.
        terms: Number of rounded terms that an element is a sum of, over all steps of its
            computation. Defaults to 64: one or two layers, whose sums have 4 to 16 terms in most
            tests.
        magnitude: Size of the numbers that are summed. Defaults to the largest finite absolute
            value in `expected`; larger where values cancel.
        unit: Rounding unit of the least precise type in use. Defaults to that of float32.
        name: What is compared, for the message.
    """
    if isinstance(expected, dict):
        assert actual.keys() == expected.keys(), name
        for key, value in expected.items():
            options = {"terms": terms, "magnitude": magnitude, "unit": unit}
            assert_close(actual[key], value, **options, name=f"{name} {key}".strip())
        return
    actual, expected = (np.asarray(array).astype("float64") for array in (actual, expected))
    assert expected.shape in (actual.shape, ()), (name, actual.shape, expected.shape)
    if magnitude is None:
        magnitude = np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
    bound = ROOM * unit * magnitude * math.sqrt(terms)
    with np.errstate(invalid="ignore"):  # inf - inf
        same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
        error = np.where(same, 0.0, np.abs(actual - expected))
    if RECORD in os.environ and bound:
        record(error.max(initial=0.0) / bound)
    if not (error <= bound).all():
        where = np.unravel_index(np.argmax(np.nan_to_num(error, nan=np.inf)), error.shape)
        wanted = np.broadcast_to(expected, actual.shape)[where]
        raise AssertionError(
            f"{name or 'value'} at {tuple(map(int, where))} must be {wanted:.9g} within "
            f"{bound:.3g}; got {actual[where]:.9g}, {error[where]:.3g} away"
        )


def record(share):
    """Appends the share of the bound that a comparison used, with its test and line."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename == __file__:
        frame = frame.f_back
    place = f"{os.path.relpath(frame.f_code.co_filename)}:{frame.f_lineno}"
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    with open(os.environ[RECORD], "a", encoding="utf-8") as file:
        file.write(f"{share:.4g}\t{place}\t{test}\n")


def main(path):
    """Prints the 30 tightest comparisons; returns 1 if one used more than a quarter."""
    tightest = collections.defaultdict(lambda: (-1.0, ""))
    with open(path, encoding="utf-8") as file:
        for line in file:
            share, place, test = line.rstrip("\n").split("\t")
            tightest[place] = max(tightest[place], (float(share), test))
    rows = sorted(((*value, place) for place, value in tightest.items()), reverse=True)
    print(f"Share of its bound that each of {len(rows)} comparisons used, the 30 tightest:")
    for share, test, place in rows[:30]:
        print(f"{share:.3f}  {place}  {test.partition('::')[2]}")
    return int(bool(rows) and rows[0][0] > 1 / ROOM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
