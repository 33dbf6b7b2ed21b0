"""Run folder with a tiny untrained biLM, for the tests of programs."""

import keras

from tfreps.models import BiLM, BiLMPretrainer
from tfreps.runs import RunFolder
from tfreps.text import Vocabulary

VOCABULARY = Vocabulary(
    "<S> </S> <UNK> the . , bank river money dog house a of her left hand he put in".split()
)
SIZES = {"filters": [[1, 8], [2, 8], [3, 8]], "units": 12, "projection_dim": 6, "num_highways": 1}


def make_pretrainer(**options):
    """Returns a `BiLMPretrainer` with the same weights in every test."""
    keras.utils.set_random_seed(7)
    bilm = BiLM(**{**SIZES, **options})
    for seed, weight in enumerate(bilm.trainable_variables):  # so that context has an effect
        weight.assign(weight + 0.3 * keras.random.normal(weight.shape, seed=seed))
    pretrainer = BiLMPretrainer(bilm, len(VOCABULARY), num_sampled=4, batch_size=2)
    if bilm.vocabulary_size is None:
        pretrainer.set_character_table(VOCABULARY.character_table(bilm.max_characters))
    return pretrainer


def make_run(path, **options):
    """Writes a run folder of `tfreps pretrain-elmo`; returns its path (str) and model."""
    model = make_pretrainer(**options)
    run = RunFolder.create(path, "pretrain-elmo", {"size": "tiny"})
    VOCABULARY.write(run.vocabulary_path)
    run.save_model(model)
    return str(path), model
