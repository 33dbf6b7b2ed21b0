"""Exports of a biLM return the outputs of the eager model."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from tests.closeness import assert_close
from tfreps._src.export.bilm_signatures import BiLMSignatures
from tfreps.export import write_export
from tfreps.inference import TextBiLM
from tfreps.models import BiLM, BiLMPretrainer, Elmo
from tfreps.serving.server.models.warm_up import warm_up_requests
from tfreps.text import Vocabulary, batch_to_ids

VOCABULARY = Vocabulary(["the", "<S>", "cat", "</S>", "sat", "<UNK>", "on", "mat"])
SIZES = {"filters": [[1, 6], [2, 6]], "units": 10, "projection_dim": 4, "num_highways": 1}
SENTENCES = ["the cat sat on the mat", "", "cat", "zebra sat"]
TOKENS = [sentence.split() for sentence in SENTENCES]
LENGTHS = [6, 0, 1, 2]


def make_pretrainer(**options):
    keras.utils.set_random_seed(1)
    bilm = BiLM(**SIZES, **options)
    for seed, weight in enumerate(bilm.trainable_variables):  # so that all affect the outputs
        weight.assign(weight + 0.3 * keras.random.normal(weight.shape, seed=seed))
    pretrainer = BiLMPretrainer(
        bilm, len(VOCABULARY), num_sampled=3, batch_size=2, dtype=bilm.dtype_policy
    )
    pretrainer.softmax.bias.assign(np.linspace(-1, 1, len(VOCABULARY)))
    return pretrainer


def export(folder, **options):
    """Returns a pretrainer and the folder of its export."""
    pretrainer = make_pretrainer()
    signatures = BiLMSignatures(TextBiLM(pretrainer, VOCABULARY), **options)
    written = write_export(signatures, folder)
    assert list(written.functions) == [
        *("default", "serving_default", "tokens", "character_ids", "vectors"),
        *("initial_states", "score", *options),
    ]
    return pretrainer, written.folder


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    return export(tmp_path_factory.mktemp("export"))


@pytest.fixture(scope="module")
def signatures(exported):
    loaded = tf.saved_model.load(str(exported[1]))
    yield loaded.signatures


@pytest.fixture(scope="module")
def explaining(tmp_path_factory):
    """Returns the signatures of an export that explains."""
    _, folder = export(tmp_path_factory.mktemp("export"), explain=True)
    loaded = tf.saved_model.load(str(folder))
    yield loaded.signatures


def padded(sentences=TOKENS, filler=""):
    longest = max(map(len, sentences))
    rows = [[*tokens, *[filler] * (longest - len(tokens))] for tokens in sentences]
    return tf.reshape(tf.constant(rows, tf.string), [len(rows), longest])


def zeros(signatures, rows):
    return dict(signatures["initial_states"](batch_size=tf.constant(rows)))


def test_every_signature_has_warm_up_requests_that_it_answers(exported, signatures):
    names = []
    for request in warm_up_requests(exported[1]):
        names.append(request.model_spec.signature_name)
        inputs = {k: tf.constant(tf.make_ndarray(value)) for k, value in request.inputs.items()}
        signatures[names[-1]](**inputs)
    assert set(names) == set(signatures)


def test_every_signature_answers_as_the_eager_model(exported, signatures):
    bilm = exported[0].bilm
    layers = bilm(batch_to_ids(TOKENS))["layer_outputs"].numpy()  # [N, 3, T, 2P]
    elmo = layers.mean(axis=1)
    expected = {
        "word_emb": layers[:, 0, :, :4],
        "lstm_outputs1": layers[:, 1],
        "lstm_outputs2": layers[:, 2],
        "elmo": elmo,
        "default": elmo.sum(axis=1) / np.maximum(LENGTHS, 1)[:, None],
        "sequence_len": LENGTHS,
    }
    predictions = {
        "default": signatures["default"](text=tf.constant(SENTENCES)),
        "serving_default": signatures["serving_default"](text=tf.constant(SENTENCES)),
        "tokens": signatures["tokens"](tokens=padded(), sequence_len=tf.constant(LENGTHS)),
        "character_ids": signatures["character_ids"](
            character_ids=tf.constant(batch_to_ids(TOKENS)), sequence_len=tf.constant(LENGTHS)
        ),
    }
    for answer in predictions.values():
        assert set(answer) == set(expected)
        for name, value in expected.items():
            assert_close(answer[name], value, name=name)
            assert answer[name].dtype == (tf.int32 if name == "sequence_len" else tf.float32)
    small = signatures["vectors"](text=tf.constant(SENTENCES))
    assert set(small) == {"vectors", "sequence_len"}
    assert_close(small["vectors"], expected["default"])


def test_a_sentence_alone_and_in_a_batch(signatures):
    batch = signatures["default"](text=tf.constant(SENTENCES))
    for row, (sentence, length) in enumerate(zip(SENTENCES, LENGTHS, strict=True)):
        alone = signatures["default"](text=tf.constant([sentence]))
        assert_close(alone["elmo"][0], batch["elmo"][row, :length])
        assert_close(alone["default"][0], batch["default"][row])


def test_what_lies_beyond_the_length_is_ignored(signatures):
    lengths = tf.constant(LENGTHS)
    clean = signatures["tokens"](tokens=padded(), sequence_len=lengths)
    dirty = signatures["tokens"](tokens=padded(filler="the"), sequence_len=lengths)
    for name in clean:
        np.testing.assert_array_equal(clean[name], dirty[name])
    states = zeros(signatures, 4)
    clean = signatures["score"](tokens=padded(), sequence_len=lengths, **states)
    dirty = signatures["score"](tokens=padded(filler="the"), sequence_len=lengths, **states)
    for name in clean:
        np.testing.assert_array_equal(clean[name], dirty[name])


def test_an_empty_token_within_the_length_counts(exported, signatures):
    tokens = ["cat", "", "mat"]
    expected = exported[0].bilm(batch_to_ids([tokens]))["layer_outputs"][:, 2]
    answer = signatures["tokens"](tokens=tf.constant([tokens]), sequence_len=tf.constant([3]))
    assert_close(answer["lstm_outputs2"], expected)
    assert answer["sequence_len"].numpy().tolist() == [3]


@pytest.mark.parametrize("lengths", [[3], [-1], [1, 1]])
def test_lengths_that_do_not_fit(signatures, lengths):
    with pytest.raises(tf.errors.InvalidArgumentError, match="sequence_len"):
        signatures["tokens"](tokens=tf.constant([["a", "b"]]), sequence_len=tf.constant(lengths))


def test_character_ids_that_do_not_fit(signatures):
    hole = batch_to_ids([["a", "b", "c"]])
    hole[0, 1] = 0
    ask = signatures["character_ids"]
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="within `sequence_len` must have an id"
    ):
        ask(character_ids=tf.constant(hole), sequence_len=tf.constant([3]))
    assert ask(character_ids=tf.constant(hole), sequence_len=tf.constant([1]))["sequence_len"] == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="0..261"):
        ask(character_ids=tf.fill([1, 1, 50], 262), sequence_len=tf.constant([1]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="one value per row"):
        ask(character_ids=tf.constant(hole), sequence_len=tf.constant([4]))


@pytest.mark.slow
def test_surprise_adds_up_to_the_score(explaining):
    signatures = explaining
    score = signatures["score"](
        tokens=padded(), sequence_len=tf.constant(LENGTHS), **zeros(signatures, 4)
    )
    found = signatures["explain"](text=tf.constant(SENTENCES))
    for direction, end in ("forward", "end"), ("backward", "start"):
        surprise = found[f"{direction}_surprise"].numpy()
        assert surprise.shape == (4, 6) and not surprise[1].any() and (surprise[0] > 0).all()
        total = surprise.sum(1) + found[f"{end}_surprise"].numpy()
        assert_close(total, score[f"{direction}_nll"])
    assert found["in_vocabulary"].numpy().tolist() == [
        *([1, 1, 1, 1, 1, 1], [0] * 6),
        *([1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0]),
    ]
    plain = signatures["default"](text=tf.constant(SENTENCES))
    assert_close(found["elmo"], plain["elmo"])
    np.testing.assert_array_equal(found["tokens"], padded())


@pytest.mark.slow
def test_surprise_of_a_token_is_what_it_adds_to_the_sentence(explaining):
    """-log p(the cat) is -log p(the) - log p(cat | the), so a prefix gets the same values."""
    found = explaining["explain"](text=tf.constant(["the cat sat", "the cat", "cat sat"]))
    forward, backward = (found[f"{d}_surprise"].numpy() for d in ("forward", "backward"))
    assert_close(forward[0, :2], forward[1, :2])
    assert_close(backward[0, 1:], backward[2, :2])


def nodes(folder):
    saved = saved_model_pb2.SavedModel()
    saved.ParseFromString((folder / "saved_model.pb").read_bytes())
    for graph in (meta.graph_def for meta in saved.meta_graphs):
        yield from graph.node
        for function in graph.library.function:
            yield function
            yield from function.node_def


def test_nothing_is_compiled_by_xla_and_nothing_is_stateful(exported, signatures):
    assert not [node for node in nodes(exported[1]) if "_XlaMustCompile" in node.attr]
    ops = {getattr(node, "op", "") for node in nodes(exported[1])}
    assert "While" in ops or "StatelessWhile" in ops
    assert not [op for op in ops if "Random" in op]
    first, second = (signatures["default"](text=tf.constant(SENTENCES)) for _ in range(2))
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])


@pytest.mark.slow
def test_bfloat16_answers_in_float32():
    pretrainer = make_pretrainer(dtype="mixed_bfloat16")
    functions = BiLMSignatures(TextBiLM(pretrainer, VOCABULARY)).functions()
    outputs = [function.structured_outputs for function in functions.values()]
    kinds = {tensor.dtype for answer in outputs for tensor in answer.values()}
    assert kinds == {tf.float32, tf.int32}


@pytest.mark.slow
def test_a_model_in_carry_gives_a_stateless_twin():
    bilm = make_pretrainer().bilm
    carrying = bilm.with_initial_state("carry")
    twin = BiLMSignatures(TextBiLM(carrying))
    expected = bilm(tf.constant(SENTENCES))["sequence_output"]
    for _ in range(2):
        answer = twin.from_text(tf.constant(SENTENCES))
        assert_close(answer["lstm_outputs2"], expected)
    assert all(np.all(state.numpy() == 0) for state in carrying.kept_states)


@pytest.mark.slow
def test_warm_states_are_where_a_warm_export_begins():
    pretrainer = make_pretrainer()
    warm = BiLMSignatures(TextBiLM(pretrainer, VOCABULARY, "warm"))
    expected = pretrainer.bilm.with_initial_state("warm")(tf.constant(SENTENCES))
    answer = warm.from_text(tf.constant(SENTENCES))
    assert_close(answer["lstm_outputs2"], expected["sequence_output"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"mix_weights": [0.5, -1.0, 2.0]},
        {"keep_sentence_boundaries": True},
        {"layer_norm": "allennlp"},
        {"layer_norm": "bilm_tf"},
        {"top_only": True},
    ],
)
def test_the_mix_of_an_elmo(options):
    elmo = Elmo(make_pretrainer().bilm, dropout=0.5, **options)
    elmo.mixes[0].gamma.assign(1.7)
    answer = BiLMSignatures(TextBiLM(elmo)).from_text(tf.constant(SENTENCES))
    expected = elmo(tf.constant(SENTENCES))["sequence_output"].numpy()
    if options.get("keep_sentence_boundaries"):
        expected = expected[:, 1:-1]
    for row, length in enumerate(LENGTHS):
        assert_close(answer["elmo"][row, :length], expected[row, :length])
        assert not np.any(answer["elmo"][row, length:])


@pytest.mark.slow
def test_a_model_of_token_ids():
    options = {"units": 8, "projection_dim": 4, "vocabulary_size": len(VOCABULARY)}
    bilm = BiLM(**options, sentence_start_id=2, sentence_end_id=4)
    functions = BiLMSignatures(TextBiLM(bilm, VOCABULARY)).functions()
    assert list(functions) == ["default", "serving_default", "tokens", "token_ids", "vectors"]
    ids = tf.constant([[1, 3, 5, 7, 1, 8], [0] * 6, [3] + [0] * 5, [6, 5] + [0] * 4])
    expected = bilm(ids)["sequence_output"]
    answer = functions["default"](text=tf.constant(SENTENCES))
    assert_close(answer["lstm_outputs2"], expected)
    padded_as_a_server_does = tf.where(ids == 0, ids[:, :1], ids)
    answer = functions["token_ids"](
        token_ids=padded_as_a_server_does, sequence_len=tf.constant(LENGTHS)
    )
    assert_close(answer["lstm_outputs2"], expected)
    assert list(BiLMSignatures(TextBiLM(bilm)).functions()) == ["token_ids", "serving_default"]


def test_the_vocabulary_of_another_model():
    other = Vocabulary(["<S>", "</S>", "<UNK>"])
    with pytest.raises(ValueError, match="8 tokens, but vocabulary has 3"):
        BiLMSignatures(TextBiLM(make_pretrainer(), other))


@pytest.mark.slow
def test_notices_say_where_sentences_start_and_what_explain_leaves_out():
    pretrainer = make_pretrainer()
    bilm = pretrainer.bilm
    (state,) = BiLMSignatures(TextBiLM(pretrainer, VOCABULARY), explain=True).notices
    assert state.startswith('Each sentence starts from zeros (`initial_state="zero"`). Only')
    assert "carry the state from batch to batch, so their vectors " in state
    state, explain = BiLMSignatures(TextBiLM(bilm, None, "carry"), explain=True).notices
    assert 'The model itself has `initial_state="carry"`, but' in state and "score" not in state
    assert "the surprise of each token, because this model has no softmax" in explain
    assert "no vocabulary" in BiLMSignatures(TextBiLM(pretrainer), explain=True).notices[1]
    assert len(BiLMSignatures(TextBiLM(bilm)).notices) == 1
    ids = BiLM(units=8, projection_dim=4, vocabulary_size=len(VOCABULARY))
    without = BiLMSignatures(TextBiLM(ids), explain=True)
    assert "There is no signature `explain`" in without.notices[1]
    (warm,) = BiLMSignatures(TextBiLM(bilm, None, "warm")).notices
    assert warm.endswith('from the stored state after a fixed sentence (`initial_state="warm"`).')
