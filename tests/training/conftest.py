"""What the tests of the training programs share: one corpus, one trained run."""

import pytest

from tests.training.pretraining import pretrain, write_corpus


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    """Folder with train-00.txt, train-01.txt, heldout.txt and vocabulary.txt; not to be changed."""
    return write_corpus(tmp_path_factory.mktemp("data") / "corpus")


@pytest.fixture(scope="session")
def trained(corpus, tmp_path_factory):
    """The folder of a finished run of two passes; not to be changed."""
    return pretrain(
        corpus,
        tmp_path_factory.mktemp("trained") / "run",
        *("--log-every", "5", "--checkpoint-every", "7", "--histograms"),
        steps=34,
    )
