"""Reading and writing options.json, and errors for wrong options."""

import copy
import json

import pytest

from tfreps._src.convert.bilm_tf_options import (
    TRAINING_KEYS,
    as_json,
    read_options,
    training_options,
    unlike_allennlp,
)
from tfreps.models import BiLM

# Published with the small model, and written by bilm-tf in training.
PUBLISHED = {
    "lstm": {
        "use_skip_connections": True,
        "projection_dim": 128,
        "cell_clip": 3,
        "proj_clip": 3,
        "dim": 1024,
        "n_layers": 2,
    },
    "char_cnn": {
        "activation": "relu",
        "filters": [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]],
        "n_highway": 1,
        "embedding": {"dim": 16},
        "n_characters": 262,
        "max_characters_per_token": 50,
    },
}
TRAINING = {"bidirectional": True, "batch_size": 128, "unroll_steps": 20, "dropout": 0.1}


def written(tmp_path, options):
    path = tmp_path / "options.json"
    path.write_text(options if isinstance(options, str) else json.dumps(options))
    return path


def changed(**values):
    """Returns `PUBLISHED` with changes: `lstm__dim=3` sets `lstm.dim`; `...` removes a key."""
    options = copy.deepcopy(PUBLISHED)
    for path, value in values.items():
        *outer, key = path.split("__")
        place = options
        for name in outer:
            place = place[name]
        if value is ...:
            del place[key]
        else:
            place[key] = value
    return options


def test_published_options(tmp_path):
    assert read_options(written(tmp_path, PUBLISHED)) == {
        "units": 1024,
        "projection_dim": 128,
        "num_layers": 2,
        "cell_clip": 3,
        "projection_clip": 3,
        "use_skip_connections": True,
        "bidirectional": True,
        "vocabulary_size": None,
        "character_dim": 16,
        "filters": PUBLISHED["char_cnn"]["filters"],
        "num_highways": 1,
        "activation": "relu",
        "max_characters": 50,
    }


def test_training_options_mean_the_same(tmp_path):
    training = {**changed(char_cnn__n_characters=261), **TRAINING}
    assert read_options(written(tmp_path, training)) == read_options(written(tmp_path, PUBLISHED))


def test_unknown_options_are_named_in_a_warning(tmp_path, caplog):
    """Options that bilm-tf writes in training give no warning."""
    training = {**PUBLISHED, **TRAINING, **dict.fromkeys(TRAINING_KEYS, 1)}
    assert read_options(written(tmp_path, training)) == read_options(written(tmp_path, PUBLISHED))
    assert not caplog.records
    options = {**changed(lstm__peepholes=True, char_cnn__embedding__scale=2), "norm": {"eps": 1}}
    assert read_options(written(tmp_path, options)) == read_options(written(tmp_path, PUBLISHED))
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    names = "`char_cnn.embedding.scale`, `lstm.peepholes`, `norm`"
    assert f"options.json: ignored the unknown options {names}. If" in record.getMessage()


def test_what_may_be_left_out(tmp_path):
    missing = changed(
        lstm__n_layers=...,
        lstm__cell_clip=...,
        lstm__proj_clip=None,
        char_cnn__n_highway=...,
        char_cnn__n_characters=...,
    )
    options = read_options(written(tmp_path, missing))
    assert options["num_layers"] == 1 and options["num_highways"] == 0
    assert options["cell_clip"] is None and options["projection_clip"] is None


def test_no_char_cnn_is_a_token_model(tmp_path):
    options = read_options(written(tmp_path, changed(char_cnn=...)))
    assert options["vocabulary_size"] is not None and not options["filters"]


@pytest.mark.parametrize("vocabulary_size", [None, 30])
def test_what_is_written_reads_back(tmp_path, vocabulary_size):
    model = BiLM(
        filters=[[1, 4], [2, 3]],
        units=6,
        projection_dim=5,
        num_layers=3,
        character_dim=7,
        num_highways=1,
        activation="tanh",
        max_characters=20,
        cell_clip=2.5,
        projection_clip=None,
        use_skip_connections=False,
        dropout=0.1,
        vocabulary_size=vocabulary_size,
    )
    config = model.get_config()
    options = read_options(written(tmp_path, as_json(config)))
    if vocabulary_size:  # the size is that of the array in the weights
        options["vocabulary_size"], options["filters"] = 30, config["filters"]
    assert options == {name: config[name] for name in options}
    # AllenNLP requires these keys even where they have no effect.
    required = {"dim", "projection_dim", "n_layers", "cell_clip", "proj_clip"}
    assert required | {"use_skip_connections"} <= as_json(config)["lstm"].keys()


WRONG = {
    "no lstm": (changed(lstm=...), "`lstm` must be a JSON object; got None"),
    "lstm a list": (changed(lstm=[1]), "`lstm` must be a JSON object; got \\[1\\]"),
    "no dim": (changed(lstm__dim=...), "`lstm.dim` is missing"),
    "dim a string": (changed(lstm__dim="1024"), "`lstm.dim` must be a whole.*; got '1024'"),
    "dim a float": (changed(lstm__dim=1024.5), "`lstm.dim` must be a whole number"),
    "dim true": (changed(lstm__dim=True), "`lstm.dim` must be .* got True"),
    "dim negative": (changed(lstm__dim=-4), "`lstm.dim` must be .* got -4"),
    "dim zero": (changed(lstm__dim=0), "`lstm.dim` must be .* got 0"),
    "dim huge": (changed(lstm__dim=10**12), "`lstm.dim` must be .* got 1000000000000"),
    "no projection": (changed(lstm__projection_dim=...), "`lstm.projection_dim` is missing"),
    "projection too large": (
        changed(lstm__projection_dim=2000),
        "`lstm.projection_dim` must not be larger than `lstm.dim`; got 2000 and 1024",
    ),
    "layers zero": (changed(lstm__n_layers=0), "`lstm.n_layers` must be"),
    "layers huge": (changed(lstm__n_layers=10**7), "`lstm.n_layers` must be"),
    "clip a string": (changed(lstm__cell_clip="3"), "`lstm.cell_clip` must be a positive"),
    "clip negative": (changed(lstm__proj_clip=-3), "`lstm.proj_clip` must be a positive"),
    "clip not a number": (changed(lstm__proj_clip=float("nan")), "`lstm.proj_clip` must"),
    "skip a number": (
        changed(lstm__use_skip_connections=1),
        "`lstm.use_skip_connections` must be true or false; got 1",
    ),
    "one direction": (
        {**PUBLISHED, "bidirectional": False},
        "`bidirectional` must be true or missing; got false. HDF5 weights of bilm-tf",
    ),
    "direction a string": (
        {**PUBLISHED, "bidirectional": "yes"},
        "`bidirectional` must be true or false; got 'yes'",
    ),
    "char_cnn null": (changed(char_cnn=None), "`char_cnn` must be a JSON object; got None"),
    "no embedding": (
        changed(char_cnn__embedding=...),
        "`char_cnn.embedding` must be a JSON object; got None",
    ),
    "embedding dim": (changed(char_cnn__embedding__dim=0), "`char_cnn.embedding.dim` must be"),
    "no filters": (changed(char_cnn__filters=...), "`char_cnn.filters` is missing"),
    "filters empty": (changed(char_cnn__filters=[]), "`char_cnn.filters` must be a list of"),
    "filters flat": (changed(char_cnn__filters=[1, 32]), "`char_cnn.filters` must be"),
    "filters negative": (changed(char_cnn__filters=[[1, -32]]), "`char_cnn.filters` must be"),
    "filters of strings": (changed(char_cnn__filters=[["1", "2"]]), "`char_cnn.filters` must"),
    "filters too wide": (
        changed(char_cnn__filters=[[51, 200]]),
        "`char_cnn.filters` must not be wider than `char_cnn.max_char",
    ),
    "filters too few": (
        changed(char_cnn__filters=[[1, 32]]),
        "larger than the total number of filters in `char_cnn.filters`; got 128 and 32",
    ),
    "highways": (changed(char_cnn__n_highway=-1), "`char_cnn.n_highway` must be"),
    "activation": (changed(char_cnn__activation="gelu"), '"relu" or "tanh"; got \'gelu\''),
    "activation missing": (changed(char_cnn__activation=...), "`char_cnn.activation` is missing"),
    "activation a list": (changed(char_cnn__activation=["relu"]), "`char_cnn.activation` must"),
    "characters": (changed(char_cnn__n_characters=256), "`char_cnn.n_characters` must be 261"),
    "length": (
        changed(char_cnn__max_characters_per_token=...),
        "`char_cnn.max_characters_per_token` is missing",
    ),
    "length too short": (
        changed(char_cnn__max_characters_per_token=2, char_cnn__filters=[[1, 200]]),
        "`char_cnn.max_characters_per_token` must be a whole number from 3",
    ),
    "not JSON": ("{lstm: ", "options.json is not a JSON file: Expecting property name"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_options_name_the_file_and_the_key(tmp_path, case):
    """Uses the public method, so that no later step can raise the error instead."""
    options, message = WRONG[case]
    path = written(tmp_path, options)
    (tmp_path / "weights.hdf5").write_bytes(b"")
    with pytest.raises(ValueError, match=message) as error:
        BiLM.from_pretrained(path, tmp_path / "weights.hdf5")
    assert str(path) in str(error.value)


def test_training_options_are_named_without_a_section():
    with pytest.raises(ValueError, match="^here: `n_tokens_vocab` is missing; expected a whole"):
        training_options(TRAINING, "here")


def test_one_direction_cannot_be_written():
    config = BiLM(filters=[[1, 4]], units=4, projection_dim=4, bidirectional=False).get_config()
    with pytest.raises(ValueError, match="`bidirectional` must be True"):
        as_json(config)


@pytest.mark.parametrize(
    "options, reasons",
    [
        ({}, []),
        ({"use_skip_connections": False}, ["no skip connections"]),
        ({"projection_dim": 6, "units": 6}, ["LSTMs without a projection"]),
        ({"filters": [[1, 2], [2, 2]]}, ["a token encoder without a projection"]),
        ({"vocabulary_size": 9, "filters": []}, ["token ids as input"]),
        (
            {"filters": [[1, 8]], "projection_dim": 8, "units": 8},
            ["LSTMs without a projection", "a token encoder without a projection"],
        ),
    ],
)
def test_what_allennlp_cannot_load(options, reasons):
    sizes = {"filters": [[1, 8]], "units": 8, "projection_dim": 4, "use_skip_connections": True}
    found = unlike_allennlp({**sizes, "vocabulary_size": None, **options})
    assert [reason.split(" (")[0] for reason in found] == reasons
