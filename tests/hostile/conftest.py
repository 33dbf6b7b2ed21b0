"""Prints the table of results at the end of a test run."""

from tests.hostile import campaign


def pytest_terminal_summary(terminalreporter):
    if campaign.RESULTS:
        terminalreporter.section("hostile input")
        for line in campaign.table():
            terminalreporter.write_line(line)
