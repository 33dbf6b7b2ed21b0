"""with_layer_norms: a rewriter of tf2onnx that converts each layer normalization to one node."""

CONSTANTS = "axis", "other_axis", "epsilon", "gamma", "beta"
# Names of parts of the pattern that must be the same tensor.
SAME = ("x", "x1", "x2"), ("mean", "mean1"), ("m", "m1")


def with_layer_norms(graph, operations):
    """Converts the operations of Keras's `LayerNormalization` to the ONNX node of this name.

        x * m + (-mean(x) * m + beta),   m = 1 / sqrt(mean((x - mean(x))^2) + epsilon) * gamma

    The means are over the last axis. Other operations remain. The operator set of the graph must be
    17 or later.
    """
    from tf2onnx.graph_matcher import GraphMatcher
    from tf2onnx.utils import make_name

    for match in GraphMatcher(_pattern()).match_ops(operations):
        axis, other_axis, epsilon, gamma, beta = (
            match.get_op(name).get_tensor_value(as_list=False) for name in CONSTANTS
        )
        x = match.get_tensor("x")
        is_norm = all(_is_one(match, *names) for names in SAME)
        is_norm &= axis.ravel().tolist() == other_axis.ravel().tolist() == [-1]
        is_norm &= gamma.shape == beta.shape == (*[1] * (gamma.ndim - 1), gamma.size)
        is_norm &= (graph.get_shape(x) or [None])[-1] == gamma.size
        if is_norm:
            weights = [
                graph.make_const(make_name("norm"), weight.ravel()).output[0]
                for weight in (gamma, beta)
            ]
            options = {"axis": -1, "epsilon": float(epsilon)}
            node = graph.make_node("LayerNormalization", [x, *weights], attr=options)
            graph.replace_all_inputs(match.get_op("output").output[0], node.output[0])
    return operations


def _is_one(match, *names):
    return len({match.get_tensor(name) for name in names}) == 1


def _pattern():
    from tf2onnx.graph_matcher import OpTypePattern

    def made(kind, *inputs, name=None):
        return OpTypePattern(kind, name=name, inputs=inputs)

    def constant(name):
        return OpTypePattern("Const|ConstV2", name=name)

    def anything(name):
        return OpTypePattern("*", name=name)

    add = "Add|AddV2"
    center = made("StopGradient", anything("mean1"))
    squares = made("SquaredDifference", anything("x2"), center)
    variance = made("Mean", squares, constant("other_axis"))
    root = made("Rsqrt", made(add, variance, constant("epsilon")))
    scaled = made("Mul", anything("x"), made("Mul", root, constant("gamma"), name="m"))
    mean = made("Mean", anything("x1"), constant("axis"), name="mean")
    shift = made(add, made("Mul", made("Neg", mean), anything("m1")), constant("beta"))
    return made(add, scaled, shift, name="output")
