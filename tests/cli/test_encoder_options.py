"""Tests that choices, help, checks and construction of encoders come from one table."""

import argparse

import pytest

from tfreps.cli import encoder_kinds, labelling, training_program
from tfreps.cli.encoder_kinds import CLASSIFIER, ENCODERS, TAGGER, EncoderInputs, EncoderKind
from tfreps.cli.encoder_options import encoder_table, make_encoder, make_linear, with_readers
from tfreps.cli.option_rules import applies_to, check_rules
from tfreps.cli.options import Option, default_values, parse_options
from tfreps.text import TokenIndexer


def tables(head=CLASSIFIER):
    return labelling.option_tables(head, {}, {})


def options(**given):
    return argparse.Namespace(**{**default_values(*tables().values()), **given})


def inputs(num_classes=4):
    sentences = [["a", "dog", "sat"], ["a", "cat"]]  # 4 words, 3 special tokens
    return EncoderInputs(TokenIndexer.from_sentences(sentences), num_classes)


def test_a_new_encoder_is_one_entry(monkeypatch, capsys):
    """The entry adds a choice, a line in the help, checks of its options, and a constructor."""
    row = Option(int, 3, "Stones of the mosaic.", at_least=1)

    def build(options, inputs):
        return ["mosaic", options.num_stones, options.units, inputs.num_classes]

    shared = {**encoder_kinds.UNITS, "num_stones": row}
    kind = EncoderKind("mosaic", build, shared, (TAGGER,), "small stones")
    monkeypatch.setitem(ENCODERS, "mosaic", kind)

    parser = training_program.make_parser("train-tagger", "Trains.", tables(TAGGER))
    with pytest.raises(SystemExit):
        parser.parse_args(["--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "mosaic: small stones" in shown and "Stones of the mosaic (default: 3)." in shown
    words = ["--run", "r", "--encoder", "mosaic", "--num-stones", "9", "--units", "5"]
    parsed = parse_options(parser, words)
    check_rules(parsed, *tables(TAGGER).values())
    assert make_encoder(parsed, inputs()) == ["mosaic", 9, 5, 4]

    parser = training_program.make_parser("train-tagger", "Trains.", tables(TAGGER))
    parsed = parse_options(parser, ["--run", "r", "--num-stones", "9"])
    with pytest.raises(ValueError) as raised:
        check_rules(parsed, *tables(TAGGER).values())
    expected = "--num-stones has no effect with --encoder bilstm; it applies to mosaic."
    assert str(raised.value) == expected
    assert applies_to(tables(TAGGER)["encoder"]["units"], "encoder") == [
        *("bilstm", "slstm", "mosaic")
    ]
    assert "mosaic" not in encoder_table(CLASSIFIER)["encoder"].choices


@pytest.mark.parametrize(
    "given, message",
    [
        (
            {"encoder": "cnn", "units": 9},
            "--units has no effect with --encoder cnn; it applies to bilstm and slstm.",
        ),
        (
            {"encoder": "bert", "bert": "b", "num_filters": 5},
            "--num-filters has no effect with --encoder bert; it applies to cnn.",
        ),
        ({"encoder": "slstm", "num_layers": 2}, "--num-layers has no effect with --encoder slstm"),
        ({"encoder": "linear", "embedding_dim": 9}, "--embedding-dim has no effect with --enc"),
        ({"encoder": "bilstm", "widths": [2]}, "--widths has no effect with --encoder bilstm"),
        (
            {"encoder": "linear", "linear_features": True},
            "--linear-features cannot be combined with --encoder linear.",
        ),
        ({"encoder": "linear", "ngrams": 2}, "--ngrams cannot be combined with --encoder linear."),
        (
            {"linear_features": True, "ngrams": 2},
            "--linear-features cannot be combined with --ngrams.",
        ),
        (
            {"linear_dropout": 0.1},
            "--linear-dropout requires --encoder linear, --linear-features or --ngrams.",
        ),
    ],
)
def test_options_that_have_no_effect(given, message):
    with pytest.raises(ValueError, match=message):
        check_rules(options(**given), *tables().values())


@pytest.mark.parametrize(
    "given",
    [
        *({"encoder": name} for name in ENCODERS if name != "bert"),
        {"encoder": "cnn", "num_filters": 9, "widths": [2]},
        {"encoder": "bert", "bert": "b", "num_layers": 2},
    ],
)
def test_options_that_an_encoder_reads(given):
    check_rules(options(**given), *tables().values())


def test_taggers_are_not_offered_a_cnn():
    offered = encoder_table(TAGGER)
    assert set(encoder_table(CLASSIFIER)) - set(offered) == {"num_filters", "widths", "ngrams"}
    names = ["embeddings", "bilstm", "slstm", "transformer", "linear", "bert"]
    assert offered["encoder"].choices == names and list(ENCODERS) != names


def test_a_row_is_in_one_table_of_a_program():
    for head in (TAGGER, CLASSIFIER):
        names = [name for table in tables(head).values() for name in table]
        assert len(names) == len(set(names))
        assert applies_to(tables(head)["words"]["vectors"], "encoder")[:2] == [
            "embeddings",
            "bilstm",
        ]
    rows = {"seed": Option(int, 0, "(0)")}
    assert with_readers(rows, TAGGER) == rows


def test_a_linear_model_beside_the_encoder_only_when_asked_for():
    assert make_linear(options(), inputs()) is None
    linear = make_linear(options(linear_features=True), inputs())
    assert (linear.units, linear.vocabulary_size, linear.dropout) == (4, 7, 0.0)
    for given in ({"linear_features": True}, {"ngrams": 2}):
        given = options(linear_dropout=0.5, **given)
        assert make_linear(given, inputs()).dropout == 0.5
    given = options(encoder="linear", linear_dropout=0.5)
    assert make_encoder(given, inputs()).dropout == 0.5


@pytest.mark.parametrize("ngrams, tables", [(1, 1), (2, 2), (3, 3)])
def test_ngrams_are_those_of_the_text_each_once(ngrams, tables):
    linear = make_linear(options(ngrams=ngrams), inputs())
    every = linear.unigram_offsets, linear.bigram_offsets, linear.trigram_offsets
    assert every == ((0,),) * ngrams + ((),) * (3 - ngrams) and len(linear.weights) == tables


def test_an_unknown_encoder():
    with pytest.raises(ValueError, match="`encoder` must be one of embeddings, bilstm"):
        make_encoder(options(encoder="lstm"), inputs())
