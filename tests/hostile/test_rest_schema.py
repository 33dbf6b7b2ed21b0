"""The REST port asked by schemathesis: what fits its description, and what does not."""

import time

import pytest
from hypothesis import HealthCheck, given, seed, settings

from tests.hostile import campaign
from tests.hostile.rest_schema import document
from tests.hostile.served import Served
from tests.hostile.worker import peak_megabytes

CASES = 600  # of each method of each path
CHECKS = "status_code_conformance", "content_type_conformance", "response_schema_conformance"


@pytest.mark.slow
def test_the_answers_are_the_described_ones(tmp_path):
    schemathesis = pytest.importorskip("schemathesis")
    served, schema = Served(tmp_path), schemathesis.openapi.from_dict(document())
    schema.app = served.app
    checks = schemathesis.checks.CHECKS.get_by_names(CHECKS)
    found = dict.fromkeys(["cases", "taken", "seconds", "processor"], 0)
    began, processor, start = time.perf_counter(), time.process_time(), peak_megabytes()
    slowest = (0.0, None)

    def check(case):
        nonlocal slowest
        clock = time.process_time()
        answer = case.call(base_url="http://localhost")
        case.validate_response(answer, checks=checks)
        found["cases"] += 1
        found["taken"] += answer.status_code == 200
        slowest = max(slowest, (time.process_time() - clock, found["cases"]))

    # What does not fit is about bodies: other paths are no paths of the document.
    modes = {"get": ["POSITIVE"], "post": ["POSITIVE", "NEGATIVE"]}
    for operation in (result.ok() for result in schema.get_all_operations()):
        for mode in modes[operation.method]:
            chosen = schemathesis.GenerationMode[mode]
            run(operation.as_strategy(generation_mode=chosen), check)
    served.still_serves()
    assert found["taken"] > found["cases"] / 50
    found |= {"seconds": time.perf_counter() - began, "processor": time.process_time() - processor}
    found |= {"megabytes": peak_megabytes(), "grown": peak_megabytes() - start, "problems": 0}
    campaign.RESULTS.append(("REST by schemathesis", {**found, "slowest": slowest}))


def run(strategy, check):
    """The check for `CASES` cases, always the same."""
    quiet = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None}

    @seed(campaign.FIRST)
    @settings(max_examples=max(int(CASES * campaign.SCALE), 1), **quiet)
    @given(strategy)
    def cases(case):
        check(case)

    cases()
