"""CRF constraints and losses in `fit`, in files and in exports."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tests.layers.ops.chain_paths_oracle import MASKS, Problem
from tfreps._src.layers.ops.crf_loss import checked_transitions, constrained
from tfreps.layers import CRF


def test_the_shape_and_the_dtype_are_checked():
    with pytest.raises(ValueError, match=r"\[4, 4\].*got bool of shape \[3, 3\]"):
        checked_transitions(np.ones([3, 3], bool), 2)
    with pytest.raises(ValueError, match="got int64"):
        checked_transitions(np.ones([4, 4], "int64"), 2)


@pytest.mark.parametrize("cut", ["start", "end", "between"])
def test_some_sequence_must_be_legal(cut):
    allowed = np.zeros([4, 4], bool)
    allowed[2, 0] = allowed[0, 1] = allowed[1, 3] = True
    assert checked_transitions(allowed, 2) == allowed.tolist()
    allowed[{"start": (2, 0), "end": (1, 3), "between": (0, 1)}[cut]] = False
    with pytest.raises(ValueError, match="no legal sequence"):
        checked_transitions(allowed, 2)


def test_rows_and_columns_find_their_scores():
    transitions, start, end = (
        np.arange(4.0).reshape(2, 2),
        np.array([4.0, 5.0]),
        np.array([6.0, 7.0]),
    )
    allowed = np.ones([4, 4], bool)
    allowed[0, 1] = allowed[2, 0] = allowed[1, 3] = False
    got = constrained((transitions, start, end), allowed.tolist(), -9.0)
    expected = [[0.0, -9.0], [2.0, 3.0]], [-9.0, 5.0], [6.0, -9.0]
    assert tuple(x.numpy().tolist() for x in got) == expected
    assert constrained((transitions, start, end), None, -9.0)[0] is transitions


# Tags follow each other cyclically. Words are little evidence, so that transitions matter.
IDS = np.array([[1, 2, 3, 1, 2], [2, 3, 1, 0, 0], [0, 0, 3, 1, 2], [3, 0, 1, 0, 2]])


TAGS = np.where(IDS > 0, IDS % 3, 99)


RING = np.ones([5, 5], bool)


RING[:3, :3] = np.roll(np.eye(3, dtype=bool), 1, 1)


def models(policy="float32", **options):
    """Returns a model for training and its part for inference."""
    ids = keras.Input([None], dtype="int32", name="ids")
    tags = keras.Input([None], dtype="int32", name="tags")
    emissions = keras.layers.Embedding(4, 3, dtype=policy)(ids)
    crf = CRF(3, allowed_transitions=RING, jit_compile="auto", dtype=policy, **options)
    trained = keras.Model([ids, tags], crf(emissions, mask=ids > 0, tags=tags)[0])
    return trained, keras.Model(ids, crf(emissions, mask=ids > 0))


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_learns_in_fit_saves_and_exports(policy, tmp_path):
    trained, tagger = models(policy)
    trained.compile(keras.optimizers.Adam(0.1), jit_compile=False)
    losses = trained.fit([IDS, TAGS], epochs=30, batch_size=4, verbose=0).history["loss"]
    assert losses[0] > 3.0 * losses[-1] and losses[-1] < 0.2
    assert trained.evaluate([IDS, TAGS], verbose=0) == pytest.approx(losses[-1], abs=0.05)
    tags, score = tagger.predict(IDS, verbose=0)
    np.testing.assert_array_equal(tags, np.where(IDS > 0, TAGS, 0))

    trained.save(tmp_path / "trained.keras")
    loaded = keras.saving.load_model(tmp_path / "trained.keras")
    np.testing.assert_array_equal(loaded.predict([IDS, TAGS], verbose=0), tags)
    more = loaded.fit([IDS, TAGS], epochs=1, batch_size=4, verbose=0).history["loss"]
    assert more[0] <= losses[-1] * 1.05
    tagger.save(tmp_path / "tagger.keras")
    again = keras.saving.load_model(tmp_path / "tagger.keras").predict(IDS, verbose=0)
    np.testing.assert_array_equal(again[0], tags)

    tagger.export(tmp_path / "served", verbose=False)
    served = tf.saved_model.load(tmp_path / "served")
    got = served.serve(tf.constant(IDS, "int32"))
    np.testing.assert_array_equal(got[0], tags)
    assert_close(got[1], score)
    assert not compiled_functions(served.signatures["serving_default"].graph)


def compiled_functions(graph):
    """Returns the names of the functions in a graph that XLA must compile."""
    definition = graph.as_graph_def()
    nodes = [*definition.node, *(n for f in definition.library.function for n in f.node_def)]
    marked = [n.name for n in nodes if n.attr["_XlaMustCompile"].b]
    marked += [f.signature.name for f in definition.library.function if f.attr["_XlaMustCompile"].b]
    return marked


@pytest.mark.slow
def test_what_is_compiled_where():
    problem = Problem.random(MASKS)
    tags = np.zeros(problem.mask.shape, "int32")

    def graph_of(jit_compile, method, *arguments, **kwargs):
        crf = CRF(3, jit_compile=jit_compile)
        crf.build((None, None, 3))
        run = tf.function(lambda: getattr(crf, method)(*arguments, **kwargs))
        return compiled_functions(run.get_concrete_function().graph)

    e, mask = problem.emissions, problem.mask
    losses = [("loss", e, tags, mask), ("log_likelihood", e, tags, mask)]
    losses += [("partial_log_likelihood", e, np.ones([7, 4, 3], bool), mask)]
    others = [("decode", e, mask), ("marginals", e, mask), ("path_score", e, tags, mask)]
    for call in losses + others:
        assert not graph_of(False, *call)
        assert graph_of(True, *call)
        assert bool(graph_of("auto", *call)) == (call in losses)
    asked = CRF(3)
    asked.build((None, None, 3))
    for method, *given in others[:2]:
        run = tf.function(lambda m=method, g=given: getattr(asked, m)(*g, jit_compile=True))
        assert compiled_functions(run.get_concrete_function().graph)


@pytest.mark.slow
def test_calls_of_other_sizes_do_not_disturb_one_another():
    """Retracing for another size relaxes the sizes that differ."""
    for sizes in ((2, 5, 3), (3, 4, 5), (1, 7, 3)):
        crf = CRF(sizes[-1], jit_compile="auto")
        assert crf.decode(np.zeros(sizes))[0].shape == sizes[:2]
        for k in (3, 2):
            assert crf.decode(np.zeros(sizes), k=k)[1].shape == (sizes[0], k)
        expected = sizes[1] * np.log(sizes[2])
        for weights in (sizes[:1], sizes[:2]):
            loss = crf.loss(np.zeros(sizes), np.zeros(sizes[:2]), sample_weight=np.ones(weights))
            assert_close(loss, expected)


@pytest.mark.slow
def test_the_loss_reaches_variables_by_any_tape():
    """Tests a persistent tape, and a combination of two losses with a factor."""
    problem, tags = Problem.random(MASKS), np.ones(np.shape(MASKS), int)
    crf = CRF(3, transition_initializer="random_normal", jit_compile="auto")
    with tf.GradientTape(persistent=True) as tape:
        loss = crf.loss(problem.emissions, tags, problem.mask)
        twice = 2.0 * loss - crf.loss(problem.emissions, tags, problem.mask)
    weights = [w.value for w in crf.trainable_variables]
    pairs = zip(tape.gradient(loss, weights), tape.gradient(twice, weights), strict=True)
    for one, other in pairs:
        assert (one.numpy() != 0.0).any()
        assert_close(one, other)
