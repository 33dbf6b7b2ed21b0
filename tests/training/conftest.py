"""What the tests of the training programs share: a corpus and a trained run of each kind."""

import pytest

from tests.training import labelling
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


@pytest.fixture(scope="session")
def tagged(tmp_path_factory):
    """`--train FILE --dev FILE --test FILE` of tagged sentences with numbers."""
    return labelling.write_tagged(tmp_path_factory.mktemp("tagged"), numbers=True)


@pytest.fixture(scope="session")
def tagger(tagged, tmp_path_factory):
    """The folder of a finished run of a BiLSTM with characters and a CRF; not to be changed."""
    run = tmp_path_factory.mktemp("tagger") / "run"
    return labelling.train_tagger(tagged, run, *labelling.TAGGER)


@pytest.fixture(scope="session")
def labelled(tmp_path_factory):
    """`--train FILE --dev FILE --test FILE` of labelled texts."""
    return labelling.write_labelled(tmp_path_factory.mktemp("labelled"))


@pytest.fixture(scope="session")
def classifier(labelled, tmp_path_factory):
    """The folder of a finished run of a TextCNN; not to be changed."""
    sizes = ["--encoder", "cnn", "--filters", "8", "--widths", "2", "3", "--embedding-dim", "8"]
    run = tmp_path_factory.mktemp("classifier") / "run"
    return labelling.train_classifier(labelled, run, "--epochs", "4", sizes=sizes)
