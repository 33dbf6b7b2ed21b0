"""Sorts the guides and resets the state before each."""

import logging
import pathlib

ORDER = [
    "plot_elmo_published.py",
    "plot_elmo_train.py",
    "plot_several_workers.py",
    "plot_elmo_state.py",
    "plot_fine_tune.py",
    "plot_crf.py",
    "plot_tagger.py",
    "plot_classifiers.py",
    "plot_slstm.py",
    "plot_bert.py",
    "plot_hmm.py",
    "plot_export.py",
    "plot_tables.py",
]


class GuideOrder:
    """Sort key: the position of a guide in `ORDER`."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, name):
        return ORDER.index(pathlib.Path(name).name)

    def __repr__(self):
        return "<GuideOrder>"


def reset(gallery_conf, name):
    """Frees the graphs of the previous guide.

    Several guides run in one process, so TensorFlow warns about functions that are traced again.
    """
    import keras

    logging.getLogger("tensorflow").setLevel(logging.ERROR)
    keras.backend.clear_session()
