"""Tests exports for ONNX Runtime and LiteRT against the models, through the program run.py."""

import json
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tests.exported_models import MAKERS, WORDS, make_bert, make_trained
from tfreps._src.export.portable.portable_export import _largest_difference, _write
from tfreps._src.export.portable_model import portable_model
from tfreps._src.inference import run
from tfreps.export import open_for_export, write_portable_export
from tfreps.inference import TextClassifier, TextEmbedder, TextTagger
from tfreps.models import (
    Classifier,
    HMMTagger,
    SentenceEmbedder,
    Tagger,
    TokenEmbedder,
    TransformerEncoder,
)
from tfreps.text import TokenIndexer

TAGGERS = "crf", "softmax", "plain", "window", "hmm", "bert_words"
OTHERS = "cnn", "attention", "transformer", "embedder", "bert_characters", "bert_pieces"
ENCODERS = "BertEncoder", "BertPretrainer", "BiLM", "BiLMPretrainer", "Elmo"
RANDOM = np.random.default_rng(0)


def loaded(kind):
    return make_bert(kind[5:]) if kind.startswith("bert_") else make_trained(kind)


def texts(count, longest):
    words = [*WORDS, "unseen", "Ada's", "两"]
    return [" ".join(RANDOM.choice(words, RANDOM.integers(0, longest))) for _ in range(count)]


def of_each(kinds):
    cases = [(kind, format) for kind in kinds for format in ("onnx", "litert")]
    return pytest.mark.parametrize("kind, format", cases)


@pytest.mark.slow
@of_each(TAGGERS)
def test_taggers(kind, format, tmp_path):
    program, model = export(loaded(kind), tmp_path, format)
    check_tagger(program, model, ["", *texts(20, 12 if kind == "bert_words" else 60)])


def check_tagger(program, model, given):
    for answer, expected in zip(program(given), model(given), strict=True):
        wanted = expected.asdict()
        assert answer["tokens"] == wanted["tokens"] and answer["tags"] == wanted["tags"]
        assert_close(answer["confidences"], wanted["confidences"], terms=4096)
        for span, own in zip(answer.get("spans", []), wanted.get("spans", []), strict=True):
            assert_close(span.pop("confidence"), own.pop("confidence"), terms=4096)
            assert span == own
        [alone] = program([answer["text"]])
        assert alone["tags"] == answer["tags"]
        assert_close(alone["confidences"], answer["confidences"], terms=4096)


@pytest.mark.slow
@pytest.mark.parametrize("format", ["onnx", "litert"])
def test_a_thousand_sentences(format, tmp_path):
    """Compares the outputs for 1 to 300 tokens, alone and in batches of 8, with the model's."""
    program, model = export(loaded("crf"), tmp_path, format)
    given = [" ".join(RANDOM.choice([*WORDS, "new"], n)) for n in RANDOM.integers(1, 301, 1000)]
    expected = model(given)
    for answers in (program(given), [program([text])[0] for text in given]):
        for answer, own in zip(answers, expected, strict=True):
            assert answer["tags"] == own.tags
            assert_close(answer["confidences"], own.confidences, terms=1 << 16)
            for span, found in zip(answer["spans"], own.spans, strict=True):
                assert span["start_char"] == found.start_char and span["type"] == found.type
                assert_close(span["confidence"], found.confidence, terms=1 << 16)


@pytest.mark.slow
@of_each(OTHERS)
def test_classifiers_and_embedders(kind, format, tmp_path):
    program, model = export(loaded(kind), tmp_path, format)
    given = ["", *texts(20, 60)]
    answers = program(given)
    if kind == "embedder":
        vectors = model(given).vectors
        assert_close([answer["vectors"] for answer in answers], vectors, terms=4096)
        return
    for answer, expected in zip(answers, model(given), strict=True):
        assert answer["label"] == expected.label
        assert_close(answer["probabilities"], expected.probabilities, terms=4096)


@pytest.mark.slow
@of_each(ENCODERS)
def test_encoders(kind, format, tmp_path):
    program, model = export(MAKERS[kind](), tmp_path, format)
    given = ["the dog", *texts(20, 15)]
    expected = open_for_export(model).from_text(tf.constant(given))["default"].numpy()
    for answer, vector in zip(program(given), expected, strict=True):
        assert_close(answer["vectors"], vector, terms=4096)


@pytest.mark.slow
def test_the_program_runs_alone(tmp_path):
    """In a process that cannot import TensorFlow, for arguments and for lines of a file."""
    program, model = export(make_trained("hmm"), tmp_path, "litert")
    script = program.folder / "run.py"
    block = "import sys, runpy; sys.modules['tensorflow'] = None; sys.argv = sys.argv[1:]; "
    command = [sys.executable, "-c", block + "runpy.run_path(sys.argv[0], run_name='__main__')"]
    given = ["Ada lives in London.", "两"]
    for more, lines in ((given, ""), ([], "\n".join(given))):
        done = subprocess.run(
            [*command, str(script), *more], input=lines, capture_output=True, text=True, check=True
        )
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        assert [answer["tags"] for answer in answers] == [found.tags for found in model(given)]
        assert answers[0]["text"] == given[0]
    assert len(script.read_text().splitlines()) <= 310


def test_words_of_a_vector_file(tmp_path):
    """Words whose vectors are in the table that is not trained."""
    indexer = TokenIndexer.from_sentences([WORDS])
    embedder = TokenEmbedder(indexer.vocabulary_size, 6, num_frozen_words=3)
    program, model = export(TextEmbedder(SentenceEmbedder(embedder), indexer), tmp_path, "litert")
    given = ["", *texts(8, 20)]
    vectors = [answer["vectors"] for answer in program(given)]
    assert_close(vectors, model(given).vectors, terms=4096)


def test_answers_of_a_tagger(tmp_path, monkeypatch):
    """Tags, and spans with their characters, are computed from the outputs of the model."""
    indexer = TokenIndexer.from_sentences([WORDS])
    hmm = HMMTagger(indexer.vocabulary_size, ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"], "bio")
    found = {"tags": [[1, 2, 0]], "confidences": [[0.5, 0.25, 1.0]]}
    found["spans"] = [[[hmm.span_types.index("PER"), 0, 2], [-1, 0, 0]]]
    found["span_confidences"] = [[0.125, 0.0]]
    monkeypatch.setattr(hmm, "tag", lambda features: found)
    model = portable_model(open_for_export(TextTagger(hmm, indexer)))

    def function(inputs):
        return {name: np.array(values) for name, values in model.function(inputs).items()}

    replace_runtime(monkeypatch, function)
    _write(tmp_path, "onnx", model, b"")
    span = {"type": "PER", "start": 0, "end": 2, "start_char": 1, "end_char": 14}
    assert run.Model(tmp_path)([" Ada  Lovelace lives"]) == [
        {
            "text": " Ada  Lovelace lives",
            "tokens": ["Ada", "Lovelace", "lives"],
            "tags": ["B-PER", "I-PER", "O"],
            "confidences": [0.5, 0.25, 1.0],
            "spans": [{**span, "text": "Ada  Lovelace", "confidence": 0.125}],
        }
    ]


def test_vocabularies_with_unusual_tokens(tmp_path, monkeypatch):
    indexer = TokenIndexer(
        ["<S>", "</S>", "<UNK>", "q\rz", "<unk>", "cat"], lowercase_fallback=True
    )
    tagger = TextTagger(HMMTagger(indexer.vocabulary_size, ["A", "B"]), indexer)
    _write(tmp_path, "onnx", portable_model(open_for_export(tagger)), b"")
    replace_runtime(monkeypatch, None)
    program = run.Model(tmp_path)
    tokens = ["cat", "CAT", "<UNK>", "dog"]
    expected = indexer(tf.constant([tokens]))["token_ids"][0].numpy().tolist()
    assert [program.token_id(token)[0] for token in tokens] == expected == [6, 6, 5, 3]
    with pytest.raises(TypeError, match="Expected a list of texts"):
        program("cat")
    indexer = TokenIndexer([*indexer.vocabulary.tokens[:3], "a"])
    signatures = open_for_export(TextTagger(HMMTagger(indexer.vocabulary_size, ["A"]), indexer))
    indexer.vocabulary.tokens[3] = "a\nb"
    pytest.importorskip("ai_edge_litert")
    with pytest.raises(ValueError, match="whose line feed vocabulary.txt cannot represent"):
        write_portable_export(signatures, tmp_path / "model", "litert")


def test_texts_with_more_tokens_than_positions(tmp_path, monkeypatch):
    indexer = TokenIndexer.from_sentences([WORDS])
    embedder = TokenEmbedder(indexer.vocabulary_size, 6)
    options = {"positions": "learned", "max_sequence_length": 4}
    encoder = TransformerEncoder(embedder, hidden_dim=8, num_layers=1, num_heads=2, **options)
    tagger = TextTagger(Tagger(encoder, ["A", "B"]), indexer)
    _write(tmp_path, "onnx", portable_model(open_for_export(tagger)), b"")
    replace_runtime(monkeypatch, None)
    program = run.Model(tmp_path)
    assert len(program.read("Ada lives in London".split())[0]) == 4
    with pytest.raises(ValueError, match="Expected at most 4 tokens or pieces; got 5: 'Ada lives"):
        program.read("Ada lives in London .".split())


def test_a_converted_model_with_other_outputs(tmp_path, monkeypatch):
    """The error names the text, and the output or the numbers of tokens that differ."""
    indexer = TokenIndexer.from_sentences([WORDS])
    classifier = Classifier(TokenEmbedder(indexer.vocabulary_size, 6), ["A", "B"])
    model = portable_model(open_for_export(TextClassifier(classifier, indexer)))
    _write(tmp_path, "onnx", model, b"")
    dog = "The dog sat on the mat ."
    error = 0.0

    def function(inputs):
        outputs = {name: value.numpy() for name, value in model.function(inputs).items()}
        return {"probabilities": outputs["probabilities"] + error}

    replace_runtime(monkeypatch, function)
    program = run.Model(tmp_path)
    assert _largest_difference(program, model) < 1e-6
    error = 0.25
    message = (
        "failed its check, so no version was written: the output 'probabilities' differs from the "
        f"output of the original model for the text '{dog}': .* more than 0.001 apart. Export a "
        "SavedModel instead"
    )
    with pytest.raises(ValueError, match=message):
        _largest_difference(program, model)
    program.about["text"]["rules"] = [["T", ""], [" ", ""]]
    message = (
        f"run.py splits the text '{dog}' into 1 tokens; the original model splits this text into "
        "7 tokens. Export a SavedModel instead"
    )
    with pytest.raises(ValueError, match=message):
        _largest_difference(program, model)


def test_formats_and_places_that_are_refused(tmp_path):
    indexer = TokenIndexer.from_sentences([WORDS])
    classifier = Classifier(TokenEmbedder(indexer.vocabulary_size, 6), ["A", "B"])
    signatures = open_for_export(TextClassifier(classifier, indexer))
    (tmp_path / "tf" / "1").mkdir(parents=True)
    (tmp_path / "tf" / "1" / "saved_model.pb").write_bytes(b"")
    pytest.importorskip("ai_edge_litert")
    with pytest.raises(
        ValueError, match="must not contain SavedModels.* LiteRT|ai-edge-litert to another"
    ):
        write_portable_export(signatures, tmp_path / "tf", "litert")
    with pytest.raises(ValueError, match="`format` must be one of 'onnx', 'litert'; got 'tf'"):
        write_portable_export(signatures, tmp_path, "tf")
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="is a file; expected a folder"):
        write_portable_export(signatures, tmp_path / "file", "litert")


def replace_runtime(monkeypatch, function):
    """Makes ONNX models call `function` instead of ONNX Runtime."""
    monkeypatch.setitem(run.STARTS, "onnxruntime", lambda path, threads: (None, function))


def export(model, folder, format):
    pytest.importorskip("onnxruntime" if format == "onnx" else "ai_edge_litert")
    messages = []
    listen = lambda record: messages.append(record.getMessage()) or True  # noqa: E731
    tf.get_logger().addFilter(listen)
    written = write_portable_export(open_for_export(model), folder / "model", format)
    tf.get_logger().removeFilter(listen)
    assert written.version == 1 and written.difference < 1e-5
    assert not [message for message in messages if "serializing table_initializer" in message]
    return run.Model(written.folder), model
