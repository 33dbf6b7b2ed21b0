"""The chart of speeds shows the ratios of the first table of benchmarks/RESULTS.md."""

import pytest

from benchmarks import chart
from tests.conftest import CHECKOUT

PAGE = """
# Speed

| task | other library | first CPU | second CPU | best engine |
|---|---|---|---|---|
| Decode, float32 | one | 1,054 / 655 (1.61) | | OpenVINO (1.3) |
| Train | two | 390 / 713 (0.55) | 12.5 / 5 (2.5; three) | |

| another | table |
|---|---|
| a | b |
"""


def test_the_table_becomes_a_chart(tmp_path):
    pytest.importorskip("matplotlib", reason="plots need matplotlib (tfreps[plots])")
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "page.md").write_text(PAGE, encoding="utf-8")
    output = tmp_path / "chart.png"
    assert chart.main(["--results", str(tmp_path / "page.md"), "--output", str(output)]) == 0
    with image.open(output) as drawn:
        assert (drawn.format, drawn.width) == ("PNG", 800)


def test_cells_are_parsed():
    assert chart.measurements(PAGE) == [
        ("Decode, float32", "one", "first CPU", 1054, 655, "1.61"),
        ("Train", "two", "first CPU", 390, 713, "0.55"),
        ("Train", "three", "second CPU", 12.5, 5, "2.5"),
    ]
    with pytest.raises(ValueError, match="got '390 / 713'"):
        chart.measurements(PAGE.replace(" (0.55)", ""))
    with pytest.raises(ValueError, match="must contain a table"):
        chart.measurements("# Speed")


def test_ratios_of_the_page_are_those_of_its_speeds():
    found = chart.measurements((CHECKOUT / "benchmarks/RESULTS.md").read_text(encoding="utf-8"))
    assert len({task for task, *_ in found}) == 10
    for task, library, cpu, ours, theirs, ratio in found:
        bound = 0.51 * 10 ** -len(ratio.partition(".")[2])
        if library.startswith("bilm-tf"):  # the speed of tfreps is from other calls than the ratio
            bound = 0.08 * float(ratio)
        assert abs(ours / theirs - float(ratio)) < bound, (task, cpu)
