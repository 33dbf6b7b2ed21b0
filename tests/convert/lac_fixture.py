"""Writes a tiny model in the files of LAC, with random weights."""

import numpy as np

WORDS = [" ", "你", "好", "a", "1", "你好", "国", "▁", "OOV"]
REPLACED = {"Ａ": "a", "A": "a", "國": "国", "１": "1", "\u3000": " ", "𠮷": "absent"}
# The last name of an id counts; the ids 6 and 7 have no name.
TAGS = [(0, "n-B"), (1, "n-I"), (2, "x-B"), (3, "x-I"), (4, "w-B"), (2, "PER-B"), (3, "PER-I")]
TAGS += [(5, "O")]
DIM, UNITS, WIDTH = 6, 5, 8


def write_lac(folder):
    """Writes the five files; returns the transitions."""
    import onnx
    from onnx import helper, numpy_helper

    rng = np.random.default_rng(3)
    arrays = {}

    def array(name, *shape):
        arrays[name] = rng.normal(size=shape).astype("float32")
        return name

    nodes = [
        helper.make_node("Gather", [array("table", len(WORDS), DIM), "token_ids"], ["x"]),
        helper.make_node("Transpose", ["x"], ["h0"], perm=[1, 0, 2]),  # [T, B, D]
    ]
    arrays["rows"] = np.array([0, 0, -1])
    for layer, width in enumerate((DIM, 2 * UNITS)):
        shapes = {"W": (3 * UNITS, width), "R": (3 * UNITS, UNITS), "B": (6 * UNITS,)}
        names = [array(f"{name}{layer}", 2, *shape) for name, shape in shapes.items()]
        options = {"direction": "bidirectional", "hidden_size": UNITS, "linear_before_reset": 1}
        nodes += [
            helper.make_node("GRU", [f"h{layer}", *names], [f"y{layer}"], **options),
            helper.make_node("Transpose", [f"y{layer}"], [f"t{layer}"], perm=[0, 2, 1, 3]),
            helper.make_node("Reshape", [f"t{layer}", "rows"], [f"h{layer + 1}"]),
        ]
    nodes += [
        helper.make_node("Transpose", ["h2"], ["h"], perm=[1, 0, 2]),  # [B, T, 2U]
        helper.make_node("MatMul", ["h", array("kernel", 2 * UNITS, WIDTH)], ["scores"]),
        helper.make_node("Add", ["scores", array("bias", WIDTH)], ["logits"]),
    ]
    tensors = [numpy_helper.from_array(value, name) for name, value in arrays.items()]
    ids = helper.make_tensor_value_info("token_ids", onnx.TensorProto.INT64, [None, None])
    logits = helper.make_tensor_value_info("logits", onnx.TensorProto.FLOAT, [None, None, WIDTH])
    graph = helper.make_graph(nodes, "lac", [ids], [logits], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(folder / "lac_encoder.onnx"))
    transitions = rng.normal(size=[WIDTH, WIDTH]).astype("float32")
    np.save(folder / "lac_crf_transitions.npy", transitions)
    pairs = {
        "word.dic": enumerate(WORDS),
        "q2b.dic": REPLACED.items(),
        "tag.dic": TAGS,
    }
    for name, lines in pairs.items():
        text = "".join(f"{first}\t{second}\n" for first, second in lines)
        (folder / name).write_text(text, encoding="utf-8")
    return transitions


def original_emissions(folder, text):
    """Returns the scores `[T, 8]` of the characters of a text, computed by ONNX Runtime."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(folder / "lac_encoder.onnx"))
    ids = {token: number for number, token in enumerate(WORDS)}
    text = text.replace("▁", " ")  # in tfreps, both are the same token
    rows = [ids.get(REPLACED.get(c, c), ids["OOV"]) for c in text]
    return session.run(None, {"token_ids": np.array([rows], "int64")})[0][0]
