"""trace_once: traces the prediction of a model for batches of all shapes."""


def trace_once(model, signature):
    """Traces the prediction of a model for batches of all shapes.

    Without it, Keras traces the first batch, and again when the length, the number of rows or
    another axis first differs. Each trace takes as long as the first.

    Args:
        model: `keras.Model`. Its next calls of `predict_on_batch` use the trace.
        signature: dict of name -> `tf.TensorSpec`. The features of a batch.
    """
    model.make_predict_function()
    if not model.run_eagerly:
        model.predict_function.get_concrete_function([(signature,)])
