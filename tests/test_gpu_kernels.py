"""Every operation of training and of exports has a GPU kernel, except those on strings and a few.

The few are listed in tests/gpu_exceptions.py. Operations of a graph without a GPU kernel run on the
CPU, and their inputs and outputs are copied between the devices.
"""

import gc

import keras
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from tests.catalogue import CATALOGUE
from tests.exported_models import MAKERS
from tests.gpu_exceptions import IN_MODELS, IN_SIGNATURES, expected
from tests.gpu_graphs import OPTIMIZERS, TRAINED, gradient_step, steps, trace
from tests.gpu_kernels import dtypes, knows_gpus, without_kernel
from tfreps._src.models import hmm_sentences
from tfreps.export import open_for_export

pytestmark = pytest.mark.skipif(
    not knows_gpus(), reason="this wheel of TensorFlow has no GPU kernels in its registry"
)

MODELS = [name for name, entry in CATALOGUE.items() if issubclass(entry.cls, keras.Model)]


@pytest.fixture(autouse=True)
def released_graphs():
    """Releases the graphs of a test, which refer to each other; TensorFlow keeps some of them."""
    yield
    gc.collect()


def some(names, *quick):
    """Marks all but the quick names as slow."""
    assert {*quick} <= {*names}
    return [n if n in quick else pytest.param(n, marks=pytest.mark.slow) for n in names]


def test_an_operation_without_a_kernel_is_found():
    def function(x, text):
        distinct, which = tf.raw_ops.UniqueV2(x=x, axis=[0])
        return tf.gather(distinct, which) + 1, tf.strings.length(text)

    int32, string = tf.TensorSpec([None, 2], "int32"), tf.TensorSpec([None], "string")
    missing = {"UniqueV2 T=int32 Taxis=int32 out_idx=int32"}
    assert without_kernel(trace(function, int32, string)) == missing
    inside = tf.function(function, autograph=False)
    assert without_kernel(trace(lambda *given: inside(*given), int32, string)) == missing

    def choose(x, text):
        return tf.cond(tf.size(x) > 3, lambda: inside(x, text)[0], lambda: x)

    assert without_kernel(trace(choose, int32, string)) == missing


def test_an_operation_that_xla_cannot_compile_is_found():
    compiled = tf.function(lambda x: tf.unique(x)[0] * 2, jit_compile=True, autograph=False)
    graph = trace(lambda x: compiled(x), tf.TensorSpec([None], "int64"))
    assert without_kernel(graph) == set()
    ragged = tf.function(lambda x: tf.ragged.range(x).flat_values, jit_compile=True)
    graph = trace(lambda x: ragged(x), tf.TensorSpec([None], "int32"))
    assert without_kernel(graph) == {"RaggedRange T=int32 Tsplits=int64 in XLA"}


def test_constraints_of_a_kernel_count():
    """There are GPU kernels for `UnsortedSegmentSum` of float32, but none for int64."""
    sums = {}
    for dtype in "float32", "int64":
        specs = tf.TensorSpec([None], dtype), tf.TensorSpec([None], "int32")
        graph = trace(lambda x, segments: tf.math.unsorted_segment_sum(x, segments, 3), *specs)
        sums[dtype] = without_kernel(graph)
        node = next(node for node in graph.node if node.op == "UnsortedSegmentSum")
        assert dtypes(node)["T"] == [tf.as_dtype(dtype)]
    assert sums["float32"] == set()
    assert sums["int64"] == {"UnsortedSegmentSum T=int64 Tindices=int32 Tnumsegments=int32"}


def test_every_exception_has_a_place_and_a_reason():
    names = {"calls": CATALOGUE, "steps": TRAINED, "float16": TRAINED, "exports": MAKERS}
    for where in (*IN_MODELS.values(), *IN_SIGNATURES.values()):
        places = {place: getattr(where, place) for place in names}
        assert where.reason and any(places.values())
        assert all({*some} <= {*names[place]} for place, some in places.items())


CALLS = some(CATALOGUE, "CRF", "SampledSoftmax")


@pytest.mark.few(1)
@pytest.mark.parametrize("name", CALLS)
def test_calls_and_gradients(name):
    """On a GPU, Keras compiles a model by XLA if all its layers support it."""
    graph, supports_jit = gradient_step(name)
    assert without_kernel(graph) == expected("calls", name)
    if supports_jit:
        assert without_kernel(graph, xla=True) == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CATALOGUE if name not in MODELS])
@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_calls_and_gradients_in_low_precision(name, policy):
    assert without_kernel(gradient_step(name, policy)[0]) == expected("calls", name)


@pytest.mark.slow
@pytest.mark.parametrize("name", some(TRAINED, "Classifier"))
def test_steps(name):
    assert set().union(*map(without_kernel, steps(name))) == expected("steps", name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["BertPretrainer", "BiLMPretrainer", "Tagger, CRF"])
@pytest.mark.parametrize("optimizer", list(OPTIMIZERS)[1:])
def test_steps_of_other_optimizers(name, optimizer):
    assert set().union(*map(without_kernel, steps(name, optimizer))) == expected("steps", name)


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_steps_in_low_precision(name, policy):
    more = expected("float16", name) if policy == "mixed_float16" else set()
    found = set().union(*map(without_kernel, steps(name, policy=policy)))
    assert found == expected("steps", name) | more


@pytest.mark.slow
def test_training_and_decoding_of_an_hmm():
    train = hmm_sentences.in_a_graph(hmm_sentences.likelihood_and_gradients, 4)
    assert without_kernel(train.get_concrete_function().graph.as_graph_def()) == set()
    shapes = [5, 4, 3], [4, 4], [4], [4]
    specs = tf.TensorSpec([5, 3], "bool"), *(tf.TensorSpec(shape, "float32") for shape in shapes)
    assert without_kernel(trace(hmm_sentences.best_path, *specs)) == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", some(MAKERS, "Classifier"))
def test_signatures_of_exports(name):
    functions = open_for_export(MAKERS[name](), explain=True).functions().values()
    graphs = [function.graph.as_graph_def() for function in functions]
    assert set().union(*map(without_kernel, graphs)) == expected("exports", name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["BertEncoder", "PieceEncoder"])
def test_signatures_that_use_tensorflow_text(name):
    functions = open_for_export(MAKERS[name](), core_ops=False).functions().values()
    for function in functions:
        assert without_kernel(function.graph.as_graph_def()) < expected("exports", name)


@pytest.mark.parametrize("name", some(MODELS))
def test_models_that_keras_exports(name, tmp_path):
    CATALOGUE[name].make().export(tmp_path, verbose=False)
    saved = saved_model_pb2.SavedModel.FromString((tmp_path / "saved_model.pb").read_bytes())
    (meta,) = saved.meta_graphs
    assert without_kernel(meta.graph_def) == expected("calls", name)
