"""check_operations: rejects a SavedModel that may use files, the network or Python."""

import pathlib
import re

# TensorFlow operations that read or write files. Each name also covers its later versions (`V2`,
# `V3`, ...) and its former name with the prefix "Experimental".
FILES = """
ReadFile WriteFile MatchingFiles Save SaveSlices Restore RestoreSlice DTensorRestore
MergeV2Checkpoints DistributedSave LoadAndRemapMatrix GenerateVocabRemapping ImmutableConst
InitializeTableFromTextFile RecordInput Skipgram DumpTensor CalibrationStatisticsSaver
DatasetToTFRecord CreateSummaryFileWriter CreateSummaryDbWriter WholeFileReader TextLineReader
FixedLengthRecordReader TFRecordReader LMDBReader TextLineDataset TFRecordDataset
FixedLengthRecordDataset CSVDataset LMDBDataset SqlDataset MatchingFilesDataset CacheDataset
SaveDataset LoadDataset SnapshotDataset SnapshotDatasetReader SnapshotNestedDatasetReader
SnapshotChunkDataset ListSnapshotChunksDataset FileSystemSetConfiguration InitializeTRTResource
DebugIdentity DebugNanCount DebugNumericSummary
"""
NETWORK = """
DataServiceDataset RegisterDataset RpcClient RpcServer RpcServerStart RpcServerRegister RpcCall
RemoteCall ConfigureDistributedTPU ConfigureAndInitializeGlobalTPU WorkerHeartbeat
"""
PYTHON = "PyFunc PyFuncStateless EagerPyFunc"
# These operations run code that the graph does not show, or end the process.
OPAQUE = """
DatasetFromGraph DeserializeIterator MlirPassthroughOp XlaCustomCall XlaCallModule TRTEngineOp Abort
"""
NAMES = {*FILES.split(), *NETWORK.split(), *PYTHON.split(), *OPAQUE.split()}
PLAIN = {"DebugNumericSummaryV2"}  # writes nothing, unlike DebugNumericSummary

# Operations that use a file only for some values of an attribute: operation -> the attribute, and a
# pattern that matches the values for which no file is used.
WITH_FILES = {
    "PrintV2": ("output_stream", rb"(?!file:).*"),
    "EncodeProto": ("descriptor_source", rb"|local://|bytes://.*"),
    "DecodeProtoV2": ("descriptor_source", rb"|local://|bytes://.*"),
    "FixedUnigramCandidateSampler": ("vocab_file", rb""),
}
TABLES = {"InitializeTableFromTextFile", "InitializeTableFromTextFileV2"}
SAVES = {"SaveV2", "MergeV2Checkpoints"}
RESTORES = {"RestoreV2"}
PASSING = {"Identity", "PlaceholderWithDefault"}
CALLS = {"PartitionedCall", "StatefulPartitionedCall"}


def check_operations(model, folder) -> None:
    """Checks that a SavedModel does not use files, the network or Python.

    A SavedModel is a program: its operations run with the permissions of the process that loads or
    calls it. Two uses of files are allowed, because ordinary SavedModels need them: saving and
    restoring the model's own variables, and filling lookup tables from its own assets.

    Args:
        model: `SavedModel` message, the content of saved_model.pb.
        folder: str or path-like. Folder of the model.

    Raises:
        ValueError: If the model has an asset outside of its folder, or a link to one, or
            operations that may use the network, Python or other files, run code that the graph does
            not show, or end the process. The message names the asset or the operations.

    Example:
    >>> from tensorflow.core.protobuf import saved_model_pb2
    >>> model = saved_model_pb2.SavedModel()
    >>> model.meta_graphs.add().graph_def.node.add(name="read", op="ReadFile").op
    'ReadFile'
    >>> check_operations(model, "exports/ner/1")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: it contains operations that may use files, ... of this machine (ReadFile). ...
    """
    for graph in model.meta_graphs:
        for asset in graph.asset_file_def:
            check_asset(asset.filename, folder)
    found = sorted({name for graph in model.meta_graphs for name in suspicious(graph)})
    if found:
        raise ValueError(
            "it contains operations that may use files, run code that its graph does not show, end "
            "the process, or use the network or the Python interpreter of this machine "
            f"({', '.join(found)}). If you trust the author of the model, load it with "
            "`allow_file_ops`."
        )


def check_asset(name, folder):
    """Raises a ValueError if an asset, or the file it links to, is not in the model's folder.

    Args:
        name: str. Name of the asset in the model.
        folder: str or path-like. Folder of the model. It may be a link, and may contain links to
            files in the same folder, as in the volumes of Kubernetes.
    """
    folder = pathlib.Path(folder).resolve()
    asset = pathlib.PurePath("assets", name)
    if ".." in asset.parts or not (folder / asset).resolve().is_relative_to(folder):
        raise ValueError(
            f"its asset {name!r} is outside of its folder, or a link to a file outside. Copy the "
            "file into the folder. If you trust the author of the model, load it with "
            "`allow_file_ops` instead."
        )


def suspicious(graph):
    """Yields the name of each operation in a `MetaGraphDef` that is not allowed."""
    nodes = {node.name: node for node in graph.graph_def.node}
    functions = graph.graph_def.library.function
    by_nodes = calls(graph.graph_def.node)
    by_functions = calls(node for function in functions for node in function.node_def)
    by_functions += [gradient.gradient_func for gradient in graph.graph_def.library.gradient]
    assets = {plain(asset.tensor_info.name) for asset in graph.asset_file_def}
    bound = asset_arguments(graph, by_nodes, by_functions)
    own_nodes, own_functions = own_saver(graph, nodes, by_nodes + by_functions)
    for node in graph.graph_def.node:
        if touches(node) and node.op not in own_nodes.get(node.name, ()):
            if not (node.op in TABLES and source(nodes, taken(node, 1)) in assets):
                yield node.op
    for function in functions:
        name = function.signature.name
        for node in function.node_def:
            if touches(node) and node.op not in own_functions.get(name, ()):
                if not (node.op in TABLES and taken(node, 1) in bound(name)):
                    yield node.op


def touches(node):
    """Returns True if a node may use files, the network or Python.

    Also returns True if the node may run code that the graph does not show, or end the process.
    """
    if node.op in WITH_FILES:
        attribute, harmless = WITH_FILES[node.op]
        value = node.attr[attribute]
        # A placeholder gets its value from the caller of the function, so it may be any value.
        return bool(value.placeholder) or not re.fullmatch(harmless, value.s, re.S)
    name = node.op.removeprefix("Experimental")
    return node.op not in PLAIN and (name in NAMES or re.sub(r"V\d+$", "", name) in NAMES)


def own_saver(graph, nodes, called):
    """Finds the nodes and functions that only save or restore the variables of a model.

    Args:
        graph: `MetaGraphDef` of the model.
        nodes: dict from names to the nodes of the graph.
        called: list of the names of the functions that the graph refers to; see `calls`.

    Returns:
        Tuple of two dicts. The first maps names of nodes (in graphs of TensorFlow 1), and the
        second names of functions (in graphs of TensorFlow 2), to the set of the file operations
        that are allowed in this node or function.
    """
    saver = graph.saver_def
    library = graph.graph_def.library
    plugged = {f.signature.name for f in library.function if "api_implements" in f.attr}
    restore = plain(saver.restore_op_name)
    save = plain(saver.save_tensor_name)
    functions = {}
    for name, allowed in ((save, SAVES), (restore, RESTORES)):
        function = nodes[name].attr["f"].func.name if name in nodes else ""
        others = function in plugged or function in graph.object_graph_def.concrete_functions
        if called.count(function) == 1 and not others:
            functions[function] = allowed
    others = [t.name for s in graph.signature_def.values() for t in s.outputs.values()]
    others += [n for names in graph.collection_def.values() for n in names.node_list.value]
    asked = ancestors(nodes, others)
    restored = ancestors(nodes, [restore])
    found = {}
    for name in ancestors(nodes, [save]) - restored - asked:
        if nodes[name].op in SAVES:
            found[name] = SAVES
    for name in restored - asked:
        own = nodes[name].op in RESTORES and plain(taken(nodes[name], 0))
        if own == plain(saver.filename_tensor_name):
            found[name] = RESTORES
    return found, functions


def calls(nodes):
    """Returns a list of the names of the functions that nodes refer to, one for each reference.

    A node refers to a function as its operation or in an attribute. An attribute that refers to a
    function may itself have attributes that refer to other functions.
    """
    found = []
    for node in nodes:
        found.append(node.op)
        left = list(node.attr.values())
        while left:
            value = left.pop()
            for function in (value.func, *value.list.func):
                if function.name:
                    found.append(function.name)
                    left += function.attr.values()
    return found


def ancestors(nodes, names):
    """Returns a set of the names of the given nodes and of all nodes that they depend on."""
    found = set()
    left = [plain(name) for name in names]
    while left:
        name = left.pop()
        if name in nodes and name not in found:
            found.add(name)
            left += map(plain, nodes[name].input)
    return found


def source(nodes, name):
    """Returns the name of the node that computes the tensor `name`.

    Nodes that return their input unchanged are skipped.
    """
    name = plain(name)
    seen = set()
    while name in nodes and nodes[name].op in PASSING and nodes[name].input and name not in seen:
        seen.add(name)
        name = plain(nodes[name].input[0])
    return name


def taken(node, index):
    """Returns the name of input `index` of a node, or "" if the node has fewer inputs."""
    return node.input[index] if index < len(node.input) else ""


def plain(name):
    """Returns the name of the node to which the name of a tensor or control input refers."""
    return name.lstrip("^").partition(":")[0]


def asset_arguments(graph, by_nodes, by_functions):
    """Returns a function that takes the name of a graph function and returns its asset arguments.

    An asset argument is an argument whose value is always an asset of the model: the object graph
    binds the argument to an asset, or every caller passes one of the asset arguments of the caller,
    as in a SavedModel that was loaded and saved again. The result is a set of argument names.

    `by_nodes` is a list of the names of the functions to which the main graph refers, and
    `by_functions` is a list of the names of the functions to which other functions refer; see
    `calls`.
    """
    functions = {function.signature.name: function for function in graph.graph_def.library.function}
    found = {}

    def bound(name):
        if name not in found:
            found[name] = set()  # set first, because the function may call itself
            arguments = functions[name].signature.input_arg
            if name in by_functions:
                found[name] = by_callers(name, arguments)
            else:
                found[name] = by_objects(graph, functions[name].signature)
        return found[name]

    def by_callers(name, arguments):
        callers = [
            (caller, node)
            for caller, function in functions.items()
            for node in function.node_def
            if node.op in CALLS and node.attr["f"].func.name == name
        ]
        is_known = len(callers) == (by_nodes + by_functions).count(name)
        if not is_known or name in graph.object_graph_def.concrete_functions:
            return set()
        return {
            argument.name
            for index, argument in enumerate(arguments)
            if all(taken(node, index) in bound(caller) for caller, node in callers)
        }

    return bound


def by_objects(graph, signature):
    """Returns the set of the arguments of a function that the object graph binds to assets.

    `signature` is the `OpDef` of the function. The set contains the names of the arguments.
    """
    objects = graph.object_graph_def
    if signature.name not in objects.concrete_functions:
        return set()
    bound = objects.concrete_functions[signature.name].bound_inputs
    last = list(signature.input_arg)[len(signature.input_arg) - len(bound) :]
    if len(last) != len(bound):
        return set()
    return {
        argument.name
        for argument, number in zip(last, bound, strict=True)
        if 0 <= number < len(objects.nodes) and objects.nodes[number].WhichOneof("kind") == "asset"
    }
