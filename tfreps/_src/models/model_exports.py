"""Export of a model as a SavedModel."""

import keras
import tensorflow as tf

from tfreps._src.layers.ops.configurable import inner_layers


def export_saved_model(model, folder, signatures, verbose=None):
    """Writes a SavedModel whose function `serve` accepts the inputs of all signatures.

    Args:
        model: The model.
        folder: str. Folder of the SavedModel.
        signatures: list with one item for each form of the input: a list with a structure of
            `tf.TensorSpec` for each argument of `call`.
        verbose: bool. Whether to print the path and the inputs. If `None` (the default), they are
            printed.
    """
    serve = tf.function(lambda *inputs: model._served(*inputs), autograph=False)
    first, *_ = [serve.get_concrete_function(*specs) for specs in signatures]
    flat = tf.function(lambda *inputs: flat_outputs(first(*inputs)), signatures[0], autograph=False)
    saved = tf.train.Checkpoint()  # a saved object needs attributes, which a `Checkpoint` can have
    saved.serve = serve
    for kind in "variables", "trainable_variables", "non_trainable_variables":
        setattr(saved, kind, [variable.value for variable in getattr(model, kind)])
    tf.saved_model.save(saved, folder, {"serve": flat, "serving_default": flat})
    if verbose is not False:
        inputs = " or ".join(_in_brackets(*specs) for specs in signatures)
        print(f"Saved {model.name!r} at {folder}. `serve` takes {inputs}.")


def check_keeps_no_state(model):
    for part in (model, *(inner for _, inner in inner_layers(model))):
        if getattr(part, "_carries_state", False):
            raise ValueError(
                f'{part.name!r} has `initial_state="carry"`, so its outputs depend on earlier '
                "calls and it cannot be exported. Replace it with the copy that "
                '`with_initial_state("zero")` or `with_initial_state("warm")` returns, and export '
                "again."
            )


def flat_outputs(outputs):
    """Converts outputs to the form that signatures require: a dict or a list of tensors."""
    if not isinstance(outputs, dict):
        return tf.nest.flatten(outputs)
    found = {}
    for name, output in outputs.items():
        parts = tf.nest.flatten(output)
        is_one = tf.is_tensor(output)
        names = [name] if is_one else [f"{name}_{i}" for i in range(len(parts))]
        found |= dict(zip(names, parts, strict=True))
    return found


def tensor_spec(given):
    """Converts a spec or a tensor to a `tf.TensorSpec`; for a tensor, with any batch size."""
    if isinstance(given, tf.TensorSpec):
        return given
    if isinstance(given, keras.InputSpec):
        return tf.TensorSpec(given.shape, given.dtype, given.name)
    name = None if tf.is_tensor(given) else given.name
    return tf.TensorSpec([None, *given.shape[1:]], given.dtype, name)


def _in_brackets(*arguments):
    """Returns specs of call arguments as text: dicts in `{...}`, lists and tuples in `[...]`."""
    brackets = {dict: "{%s}", list: "[%s]", tuple: "[%s]"}
    return ", ".join(brackets.get(type(specs), "%s") % written(specs) for specs in arguments)


def written(signature):
    """Returns the name, dtype and shape of each spec in a structure as text, for messages."""
    specs = tf.nest.flatten(signature)
    return ", ".join(f"{spec.name} {spec.dtype.name} {list(spec.shape)}" for spec in specs)
