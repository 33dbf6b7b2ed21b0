"""Option for the engine that runs a model, and whether a command needs TensorFlow."""

from tfreps._src.cli.options import Option

ENGINE = Option(
    str, None, "Engine that runs the model instead of TensorFlow. A model that is not an export is "
    "first exported, once, to the folder engines next to its files. By default, an export runs in "
    "the engine of its format, which is onnxruntime for ONNX, and other models run in TensorFlow.",
    ["onnxruntime", "openvino", "litert"],
)  # fmt: skip


def needs_tensorflow(options) -> bool:
    """Returns True if the model `options.model` runs in TensorFlow or must be exported first."""
    from tfreps._src import loading

    return loading.needs_tensorflow(options.model, options.engine)
