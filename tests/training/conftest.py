"""Fixtures of the training commands: a corpus and a trained run of each kind."""

import pytest

from tests.made_once import made_once
from tests.training import labeling
from tests.training.pretraining import pretrain, write_corpus


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    """Returns a folder with train-00.txt, train-01.txt, heldout.txt and vocabulary.txt."""
    return made_once(tmp_path_factory, "corpus", write_corpus)


@pytest.fixture(scope="session")
def trained(corpus, tmp_path_factory):
    """Returns the folder of a finished run of two passes, which tests must not change."""
    more = "--log-every", "5", "--checkpoint-every", "7", "--histograms", "--num-layers", "1"
    return made_once(
        tmp_path_factory, "trained", lambda run: pretrain(corpus, run, *more, steps=34)
    )


@pytest.fixture(scope="session")
def tagged(tmp_path_factory):
    """Returns `--train FILE --validation FILE --test FILE` of tagged sentences with numbers."""
    return labeling.write_tagged(tmp_path_factory.mktemp("tagged"), numbers=True)


@pytest.fixture(scope="session")
def tagger(tagged, tmp_path_factory):
    """Returns the folder of a finished BiLSTM with characters and a CRF; not to be changed."""
    return made_once(
        tmp_path_factory,
        "tagger",
        lambda run: labeling.train_tagger(tagged, run, *labeling.TAGGER),
    )


@pytest.fixture(scope="session")
def names_only(tmp_path_factory):
    """Returns `--train FILE --validation FILE --test FILE` of tagged sentences of known words."""
    return labeling.write_tagged(tmp_path_factory.mktemp("names"), sizes=(480, 60, 60))


@pytest.fixture(scope="session")
def word_tagger(names_only, tmp_path_factory):
    """Returns the folder of a finished BiLSTM of words without a CRF; not to be changed."""
    return made_once(
        tmp_path_factory,
        "word_tagger",
        lambda run: labeling.train_tagger(
            *(names_only, run, *labeling.WORD_TAGGER, "--no-use-crf", "--characters", "none"),
            *("--learning-rate", "0.03", "--epochs", "3"),
        ),
    )


@pytest.fixture(scope="session")
def labeled(tmp_path_factory):
    """Returns `--train FILE --validation FILE --test FILE` of labeled texts."""
    return labeling.write_labeled(tmp_path_factory.mktemp("labeled"))


@pytest.fixture(scope="session")
def classifier(labeled, tmp_path_factory):
    """Returns the folder of a finished TextCNN; not to be changed."""
    sizes = ["--encoder", "cnn", "--embedding-dim", "8", "--set", "num_filters=8", "widths=2,3"]
    return made_once(
        tmp_path_factory,
        "classifier",
        lambda run: labeling.train_classifier(labeled, run, "--epochs", "4", sizes=sizes),
    )
