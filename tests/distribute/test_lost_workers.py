import types

import pytest
import tensorflow as tf

from tfreps.distribute.lost_workers import LostWorker, naming_lost_workers

TWO = types.SimpleNamespace(size=2, index=1)
REPORTS = [
    tf.errors.UnavailableError(None, None, "Collective ops is aborted by: Error reported from ..."),
    tf.errors.InternalError(None, None, "recvmsg:Connection reset by peer"),
]


@pytest.mark.parametrize("report", REPORTS)
def test_a_lost_worker_is_named(report):
    with pytest.raises(LostWorker, match="^Worker 1 of 2 stopped because another worker has ended"):
        with naming_lost_workers(TWO):
            raise report


def test_other_errors_stay_what_they_are():
    with pytest.raises(tf.errors.InvalidArgumentError), naming_lost_workers(TWO):
        raise tf.errors.InvalidArgumentError(None, None, "Tag ids must lie in 0..2.")
    with pytest.raises(tf.errors.UnavailableError):
        with naming_lost_workers(types.SimpleNamespace(size=1, index=0)):
            raise REPORTS[0]
