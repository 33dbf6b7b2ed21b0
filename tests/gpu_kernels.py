"""Finds the operations of a graph that have no GPU kernel for their dtypes.

TensorFlow's registry of kernels answers on a machine without a GPU if the wheel was built with
CUDA, as `tensorflow` for Linux on x86-64 is. It says that a kernel exists, not how fast it is.
"""

import functools

import tensorflow as tf
from tensorflow.python.framework import kernels, op_def_registry

GPU = "GPU", "DEFAULT"  # a kernel for any device is used where a GPU has none of its own
XLA = ("XLA_GPU_JIT",)  # operations inside functions that XLA compiles
ARGUMENTS = "Placeholder", "_Arg", "_Retval"  # XLA needs no kernels for them


def knows_gpus():
    """Returns True if the registry of this TensorFlow contains the kernels for GPUs."""
    return any(kernel.device_type == "GPU" for kernel in kernels_of("MatMul"))


def without_kernel(graph, xla=False):
    """Returns the operations of a graph that have no GPU kernel, except those on strings.

    Args:
        graph: `tf.compat.v1.GraphDef`. The functions that it calls are searched, too.
        xla: bool. Whether XLA compiles the whole graph. Parts that XLA always compiles need an
            XLA kernel instead of a GPU kernel in any case. Defaults to `False`.

    Returns:
        set of str, such as `"UniqueV2 T=int32 Taxis=int32 out_idx=int32"`, with ` in XLA` at the
        end if the XLA kernel is missing.
    """
    found = set()
    for node, is_compiled in reached(graph, xla):
        if not (has_kernel(node, XLA if is_compiled else GPU) or is_on_strings(node)):
            kinds = [f"{n}={','.join(k.name for k in kinds)}" for n, kinds in dtypes(node).items()]
            found.add(" ".join([node.op, *kinds]) + is_compiled * " in XLA")
    return found


def reached(graph, xla=False):
    """Yields `(node, is_compiled)` for the nodes of a graph and of all functions that it calls."""
    library = {function.signature.name: function for function in graph.library.function}
    waiting = [(graph.node, xla)]
    seen = set()
    while waiting:
        nodes, is_compiled = waiting.pop()
        for node in nodes:
            if node.op not in library:
                yield node, is_compiled
            for name in called(node):
                function = library[name]
                marks = node.attr["_XlaMustCompile"].b, function.attr["_XlaMustCompile"].b
                key = name, is_compiled or any(marks)
                if key not in seen:
                    seen.add(key)
                    waiting.append((function.node_def, key[1]))


def called(node):
    """Returns the names of the functions that a node calls."""
    values = [value for value in node.attr.values() if value.WhichOneof("value")]
    named = [value.func.name for value in values if value.WhichOneof("value") == "func"]
    listed = [function.name for value in values for function in value.list.func]
    own = [node.op] if op_def_registry.get(node.op) is None else []
    return [*named, *listed, *own]


def has_kernel(node, devices):
    """Returns True if one of the devices has a kernel whose constraints the node meets."""
    if devices == XLA:
        register_xla_kernels()
        if node.op in ARGUMENTS or called(node):
            return True
    values = attributes(node)
    usable = (k for k in kernels_of(node.op) if k.device_type in devices and not k.label)
    return any(all(meets(values, limit) for limit in kernel.constraint) for kernel in usable)


def meets(values, limit):
    """Returns True if one of the attributes has a value that a kernel accepts."""
    value, allowed = values[limit.name], limit.allowed_values.list
    kind = value.WhichOneof("value")
    if kind == "list":
        return set(value.list.type) <= set(allowed.type)
    return getattr(value, kind) in getattr(allowed, kind)


def is_on_strings(node):
    """Returns True if an input, an output or a key of a node is a string."""
    definition = op_def_registry.get(node.op)
    fixed = {arg.type for arg in (*definition.input_arg, *definition.output_arg)}
    given = {kind for kinds in dtypes(node).values() for kind in kinds}
    return tf.string in fixed | given


def dtypes(node):
    """Returns the dtypes of a node: a dict from the name of an attribute to a list of dtypes."""
    found = {}
    for name, value in sorted(attributes(node).items()):
        is_single = value.WhichOneof("value") == "type"
        kinds = [tf.as_dtype(kind) for kind in ([value.type] if is_single else value.list.type)]
        if kinds and not name.startswith("_"):
            found[name] = kinds
    return found


def attributes(node):
    """Returns the attributes of a node, with the defaults that a SavedModel leaves out."""
    given = op_def_registry.get(node.op).attr
    defaults = {attr.name: attr.default_value for attr in given if attr.HasField("default_value")}
    return {**defaults, **node.attr}


@functools.cache
def kernels_of(op):
    return list(kernels.get_registered_kernels_for_op(op).kernel)


@functools.cache
def register_xla_kernels():
    """Compiles a function, because TensorFlow registers XLA's kernels when it first needs them."""
    tf.function(lambda: tf.zeros([]) + 1.0, jit_compile=True, autograph=False)()
    kernels_of.cache_clear()
