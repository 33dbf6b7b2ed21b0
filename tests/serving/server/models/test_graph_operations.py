"""SavedModels that may use files, the network or Python are rejected; others are accepted."""

import shutil

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import op_def_pb2
from tensorflow.core.protobuf import saved_model_pb2

from tests.serving.server.small_models import ask, save, serving, spec
from tfreps.serving import ServerOptions
from tfreps.serving.server.models.graph_operations import check_asset, check_operations, touches
from tfreps.serving.server.models.servable import Servable

TEXT = {"text": spec("string", None)}


def read(folder):
    return saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())


def python(text):
    return {"y": tf.py_function(lambda t: t, [text], tf.string)}


def from_file(text):
    table = tf.raw_ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64)
    fill = tf.raw_ops.InitializeTableFromTextFileV2(
        table_handle=table, filename="/etc/passwd", key_index=-2, value_index=-1
    )
    with tf.control_dependencies([fill]):
        return {"y": tf.raw_ops.LookupTableSizeV2(table_handle=table)}


def nested(text):
    return {"y": tf.map_fn(tf.io.read_file, text)}


def lines(text):
    return {"y": tf.data.TextLineDataset(text).reduce("", lambda one, two: one + two)}


def printed(text):
    tf.print(text, output_stream="file:///tmp/printed")
    return {"y": text}


@pytest.mark.parametrize(
    "function, name",
    [
        (nested, "ReadFile"),
        (lines, "TextLineDataset"),
        (python, "EagerPyFunc"),
        (from_file, "InitializeTableFromTextFileV2"),
        (printed, "PrintV2"),
        (lambda text: {"y": tf.io.matching_files(text)}, "MatchingFiles"),
        (lambda text: {"y": tf.raw_ops.RestoreV2(
            prefix=text[0], tensor_names=["x"], shape_and_slices=[""], dtypes=[tf.float32])[0]
        }, "RestoreV2"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_operations_are_named(tmp_path, function, name):
    folder = save(tmp_path / "1", serving_default=(function, TEXT))
    with pytest.raises(ValueError, match=rf"of this machine \({name}.*`allow_file_ops`"):
        check_operations(read(folder), folder)


def test_neither_loaded_nor_asked(tmp_path):
    """A model that would write a file on each request is rejected before it is loaded."""
    target = tmp_path / "written"

    def writes(text):
        with tf.control_dependencies([tf.io.write_file(str(target), text[0])]):
            return {"y": tf.identity(text)}

    folder = save(tmp_path / "m" / "1", serving_default=(writes, TEXT))
    with pytest.raises(ValueError, match=r"m: no version can be served. .* machine \(WriteFile"):
        serving(tmp_path / "m").start()
    inputs = {"text": np.array([b"seen"], object)}
    assert ask(Servable(folder, ServerOptions(allow_file_ops=True)), "", inputs)["y"] == [b"seen"]
    assert target.read_text() == "seen"


class WithTable(tf.Module):
    """Model with variables and a lookup table that is read from a file, like exports."""

    def __init__(self, path):
        super().__init__()
        kinds = tf.string, tf.lookup.TextFileIndex.WHOLE_LINE
        fill = tf.lookup.TextFileInitializer(
            path, *kinds, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER
        )
        self.table = tf.lookup.StaticVocabularyTable(fill, 1)
        self.one = tf.Variable(1, dtype=tf.int64)

    @tf.function(input_signature=[spec("string", None)])
    def ask(self, text):
        return {"y": self.table.lookup(text) + self.one}


@pytest.fixture(scope="module")
def regular(tmp_path_factory):
    folder = tmp_path_factory.mktemp("regular")
    (folder / "words.txt").write_text("a\nb\n")
    model = WithTable(str(folder / "words.txt"))
    tf.saved_model.save(
        model, str(folder / "1"), {"serving_default": model.ask.get_concrete_function()}
    )
    return folder / "1"


def test_tables_of_assets_and_variables_are_regular(regular, models):
    response = ask(Servable(regular), "", {"text": np.array([b"b", b"?"], object)})
    assert response["y"].tolist() == [2, 3]
    for name, number in (("zoo", "7"), ("half_plus_two", "123")):
        check_operations(read(models / name / number), models / name / number)


def test_a_table_whose_file_is_no_asset(regular):
    model = read(regular)
    for node in model.meta_graphs[0].object_graph_def.nodes:
        if node.WhichOneof("kind") == "asset":
            node.constant.operation = "x"
    with pytest.raises(ValueError, match=r"of this machine \(InitializeTableFromTextFileV2"):
        check_operations(model, regular)


@pytest.mark.parametrize("name", ["../../secret", "/etc/passwd", "a/../../x", ".."])
def test_assets_outside_the_folder(regular, name):
    model = read(regular)
    model.meta_graphs[0].asset_file_def[0].filename = name
    with pytest.raises(ValueError, match="is outside of its folder, or a link"):
        check_operations(model, "exports/m/1")
    check_asset("deep/words.txt", "exports/m/1")


def test_assets_that_are_links(regular, tmp_path):
    """Links to files outside of the folder are rejected; links to the folder or in it are not."""
    inside = tmp_path / "volume" / "..2026_11_26"
    shutil.copytree(regular, inside / "1")
    (tmp_path / "volume" / "..data").symlink_to("..2026_11_26")
    (tmp_path / "volume" / "1").symlink_to("..data/1")  # as in a volume of Kubernetes
    folder = tmp_path / "volume" / "1"
    text = {"text": np.array([b"b"], object)}
    assert ask(Servable(folder), "", text)["y"].tolist() == [2]
    asset = inside / "1" / "assets" / "words.txt"
    asset.rename(asset.with_name("words.v1.txt"))
    asset.symlink_to("words.v1.txt")
    assert ask(Servable(folder), "", text)["y"].tolist() == [2]
    (tmp_path / "secret.txt").write_text("a\nsecret\nb\n")
    asset.unlink()
    asset.symlink_to(tmp_path / "secret.txt")
    with pytest.raises(ValueError, match="its asset 'words.txt' is outside of its folder, or a li"):
        Servable(folder)
    assert ask(Servable(folder, ServerOptions(allow_file_ops=True)), "", text)["y"].tolist() == [3]
    shutil.rmtree(asset.parent)
    (tmp_path / "words.txt").write_text("b\n")
    asset.parent.symlink_to(tmp_path)
    with pytest.raises(ValueError, match="is outside of its folder, or a link to a file outside"):
        Servable(folder)


def test_models_that_were_loaded_and_saved_again(regular, tmp_path):
    """Their tables are filled in a function that other functions call with the asset."""
    folder = regular
    for name in ("1", "2"):
        loaded = tf.saved_model.load(str(folder))
        folder = tmp_path / name
        tf.saved_model.save(loaded, str(folder), dict(loaded.signatures))
        response = ask(Servable(folder), "", {"text": np.array([b"b", b"?"], object)})
        assert response["y"].tolist() == [2, 3]
    for change in ("file", "caller", "node", "itself"):
        model = read(tmp_path / "1")
        graph = model.meta_graphs[0]
        (outer,) = (
            function
            for function in graph.graph_def.library.function
            if "restored_function_body" in function.signature.name
            and any("initializer" in n.attr["f"].func.name for n in function.node_def)
        )
        (call,) = (n for n in outer.node_def if "initializer" in n.attr["f"].func.name)
        if change == "file":
            outer.node_def.add(name="file", op="Const")
            call.input[:] = ["file:output:0", *call.input[1:]]
        elif change == "caller":
            wrapper = function_of(graph, "signature_wrapper").node_def
            wrapper.add(name="again", op="PartitionedCall").attr["f"].CopyFrom(call.attr["f"])
        elif change == "node":
            node = graph.graph_def.node.add(name="again", op="PartitionedCall")
            node.attr["f"].CopyFrom(call.attr["f"])
        else:
            inner = function_of(graph, call.attr["f"].func.name)
            inner.node_def.add(name="again", op="PartitionedCall").attr["f"].CopyFrom(
                call.attr["f"]
            )
        with pytest.raises(ValueError, match=r"of this machine \(InitializeTableFromTextFileV2"):
            check_operations(model, regular)


def function_of(graph, words):
    return next(f for f in graph.graph_def.library.function if words in f.signature.name)


def test_functions_that_save_and_restore_do_nothing_else(regular):
    """Functions named in `saver_def` must do nothing else, and must not be called elsewhere."""
    for change in ("more", "call", "name", "attribute", "gradient", "plug", "object"):
        model = read(regular)
        graph = model.meta_graphs[0]
        save_function = function_of(graph, "traced_save")
        wrapper = function_of(graph, "signature_wrapper").node_def
        if change == "more":
            save_function.node_def.add(name="x", op="ReadFile")
        elif change == "name":
            wrapper.add(name="x", op=save_function.signature.name)
        elif change == "attribute":
            node = wrapper.add(name="x", op="PartitionedCall").attr["f"].func
            node.name = function_of(graph, "ask").signature.name
            node.attr["g"].list.func.add(name=save_function.signature.name)
        elif change == "gradient":
            graph.graph_def.library.gradient.add(gradient_func=save_function.signature.name)
        elif change == "plug":
            save_function.attr["api_implements"].s = b"x"
        elif change == "call":
            node = wrapper.add(name="x", op="PartitionedCall")
            node.attr["f"].func.name = save_function.signature.name
        else:
            graph.object_graph_def.concrete_functions[save_function.signature.name].SetInParent()
        with pytest.raises(ValueError, match="ReadFile" if change == "more" else "SaveV2"):
            check_operations(model, regular)
    model = read(regular)
    function_of(model.meta_graphs[0], "traced_restore").node_def.add(name="x", op="SaveV2")
    with pytest.raises(ValueError, match=r"of this machine \(SaveV2"):
        check_operations(model, regular)


def tf1_model():
    """Returns a `SavedModel` as TensorFlow 1 writes it, with the saver in the main graph."""
    tf1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        tf1.get_variable("v", [2])
        saver = tf1.train.Saver(sharded=True)
        model = saved_model_pb2.SavedModel()
        meta = model.meta_graphs.add()
        meta.graph_def.CopyFrom(graph.as_graph_def())
        meta.saver_def.CopyFrom(saver.saver_def)
    return model


def test_the_saver_of_tensorflow_1():
    model = tf1_model()
    check_operations(model, "m/1")
    graph = model.meta_graphs[0]
    (restore,) = (node for node in graph.graph_def.node if node.op == "RestoreV2")
    restore.input[0] = "another/path"
    with pytest.raises(ValueError, match=r"of this machine \(RestoreV2"):
        check_operations(model, "m/1")
    model = tf1_model()
    graph = model.meta_graphs[0]
    (saves,) = (node.name for node in graph.graph_def.node if node.op == "SaveV2")
    (ends,) = (n for n in graph.graph_def.node if n.name == graph.saver_def.restore_op_name)
    ends.input.append(f"^{saves}")  # restoring during loading would save a file
    with pytest.raises(ValueError, match=r"of this machine \(SaveV2"):
        check_operations(model, "m/1")


def test_operations_are_told_by_their_arguments():
    """Every operation with an argument for a file or an address is detected."""
    words = "file", "path", "url", "address", "server", "prefix", "dir", "target_workers", "region"
    known = "direction", "source_target_pairs", "recall_target", "top_paths", "counter_prefix"
    seen = 0
    for op in operations():
        names = [a.name for a in (*op.input_arg, *op.attr) if not a.name.startswith(known)]
        if any(word in name for name in names for word in words):
            node = tf.compat.v1.NodeDef(op=op.name)
            node.attr["vocab_file"].s = b"x"
            seen += 1
            assert touches(node) or op.name == "TensorSliceDataset", op.name
    assert seen > 50


def operations():
    from tensorflow.python.client import pywrap_tf_session

    found = op_def_pb2.OpList()
    found.ParseFromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    return [op for op in found.op if not op.name.startswith("_")]


@pytest.mark.parametrize(
    "name, expected",
    [
        ("ReadFile", True),
        ("SaveV3", True),  # a future version
        ("ExperimentalLMDBDataset", True),
        ("SnapshotDatasetV2", True),
        ("ReadVariableOp", False),
        ("Snapshot", False),
        ("DebugNumericSummaryV2", False),
        ("TensorArrayReadV3", False),
        ("Print", False),
        ("DecodeProtoV2", False),
        ("FixedUnigramCandidateSampler", False),
    ],
)
def test_names(name, expected):
    assert touches(tf.compat.v1.NodeDef(op=name)) == expected


def test_broken_nodes_are_named_too(regular):
    model = read(regular)
    node = model.meta_graphs[0].graph_def.node.add(name="x", op="InitializeTableFromTextFileV2")
    with pytest.raises(ValueError, match=r"of this machine \(InitializeTableFromTextFileV2"):
        check_operations(model, regular)
    node.op = "RestoreV2"
    model.meta_graphs[0].saver_def.restore_op_name = "x"
    with pytest.raises(ValueError, match=r"of this machine \(RestoreV2"):
        check_operations(model, regular)


def test_files_that_a_caller_names():
    node = tf.compat.v1.NodeDef(op="PrintV2")
    assert not touches(node)
    node.attr["output_stream"].placeholder = "where"
    assert touches(node)


def test_descriptors_of_messages_from_files():
    node = tf.compat.v1.NodeDef(op="DecodeProtoV2")
    for where, expected in ((b"local://", False), (b"bytes://x", False), (b"/etc/x", True)):
        node.attr["descriptor_source"].s = where
        assert touches(node) == expected
