"""Tests the number and the encodings of the domains of fdu_mtl."""

from benchmarks.domains import DOMAINS, encoding_of


def test_they_are_those_with_a_test_set_and_can_be_read(tfreps_data):
    files = (tfreps_data / "fdu_mtl").glob("*.task.test")
    assert sorted(path.name.split(".")[0] for path in files) == sorted(DOMAINS)
    for path in (tfreps_data / "fdu_mtl").iterdir():
        path.read_bytes().decode(encoding_of(path.name.split(".")[0]))
