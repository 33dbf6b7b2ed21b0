"""Measures exports in each engine, and compares them with exports of other libraries.

    make peers
    python -m benchmarks.engines --torch-python .venv-peers/torch/bin/python \\
        --sentence-transformers-python .venv-peers/sentence_transformers/bin/python

Each row runs in its own process. Each other library runs in another process and alternates with
tfreps every few calls, so that other load on the machine slows both; all use two threads and
compute in float32. The number in parentheses is the median speed of tfreps divided by that of the
other library; "tokens/s" and "spread" are from the calls that alternate with the library that is
measured last.

    6x384-8x128-ENGINE    from token ids (texts x tokens) to the vectors of a BERT with random
                          weights, compared with the SavedModel, and with the BERT of
                          transformers in the same engine, or in both other engines for LiteRT
    elmo_small-32x25-ENGINE  from character ids (sentences x tokens) to all layers of an ELMo with
                          random weights, compared with the SavedModel
    embed-ENGINE          from 1,000 lines of the help topics of Python to one vector for each, with
                          a model of the shape of all-MiniLM-L6-v2, compared with the backends of
                          sentence-transformers; "tokens/s" counts these texts. "OpenVINO by
                          default" computes in bfloat16 on some CPUs.
    decode-1x4x2-FORMAT   from the scores of tags (texts x tokens x tags) to the best tags, compared
                          with the CRF of DeLFT. The decoder also computes the spans and, except
                          for FORMAT-tags, all probabilities.
"""

import sys
import tempfile

from benchmarks.random_berts import SHAPES, text_bert
from benchmarks.runner import THREADS, Peer, run_rows
from benchmarks.topics_text import batches_of_tokens, lines, pieces

PYTHONS = {
    "torch_python": "the packages of benchmarks/peers/torch.txt",
    "sentence_transformers_python": "the packages of benchmarks/peers/sentence_transformers.txt",
}
ENGINES = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO", "litert": "LiteRT"}
# Name of a backend -> the backend of sentence-transformers, and the precision of OpenVINO.
BACKENDS = {
    "PyTorch": ("torch", None),
    "ONNX Runtime": ("onnx", None),
    "OpenVINO": ("openvino", "f32"),
    "OpenVINO by default": ("openvino", None),
}
SENTENCES = 1000
TEXT_SIZES = (8, 128), (1, 128), (1, 16)
ELMO_SIZES = (32, 25), (1, 25)
CHAIN_SIZES = (1, 4, 2), (1, 20, 9), (8, 25, 9)
DECODERS = "onnx-tags", "litert-tags", "saved_model-tags", "onnx", "litert", "saved_model"


def rows():
    """Yields the name of each row, its function and the arguments of the function."""
    for shape in "6x384", "base":
        for texts, tokens in TEXT_SIZES:
            for engine in ENGINES:
                row = "encode", shape, texts, tokens, engine
                yield f"{shape}-{texts}x{tokens}-{engine}", row
    for size in "elmo_small", "elmo_original":
        for texts, tokens in ELMO_SIZES:
            for engine in ENGINES:
                yield f"{size}-{texts}x{tokens}-{engine}", ("elmo", size, texts, tokens, engine)
    for engine in "tensorflow", *ENGINES:
        yield f"embed-{engine}", ("embed", engine)
    for size in CHAIN_SIZES:
        for form in DECODERS:
            yield f"decode-{'x'.join(map(str, size))}-{form}", ("decode", *size, form)


ROWS = dict(rows())


def main(argv=None):
    return run_rows(sys.modules[__name__], argv, repeats=40, pythons=PYTHONS)


def encode(shape, texts, length, engine, run):
    """Encodes a batch of token ids with an export of a BERT."""
    import numpy as np

    ids = np.random.default_rng(0).integers(5, 29000, [texts, length]).astype("int32")
    inputs = {"token_ids": ids, "mask": np.ones(ids.shape, "bool")}
    job = {"task": "encode", "shape": SHAPES[shape], "texts": texts, "length": length}
    job |= {"precision": "float32", "threads": THREADS}
    others = ("onnxruntime", "openvino") if engine == "litert" else (engine,)
    peers = {
        f"transformers, {ENGINES[other]}": Peer("torch_python", "transformers", (other, job))
        for other in others
    }
    return compare(text_bert(shape, pooler=False), "sequence_output", inputs, engine, peers, run)


def elmo(size, texts, length, engine, run):
    """Encodes a batch of character ids with an export of an ELMo."""
    import keras

    from tfreps.inference import TextBiLM
    from tfreps.models import BiLM, sizes
    from tfreps.text import batch_to_ids

    keras.utils.set_random_seed(0)
    inputs = {"character_ids": batch_to_ids(batches_of_tokens(texts, length, 1)[0])}
    return compare(TextBiLM(BiLM(**sizes.ELMO[size])), "layer_outputs", inputs, engine, {}, run)


def compare(trained, output, inputs, engine, peers, run):
    """Compares an export with peers, and with the function that a SavedModel of tfreps has."""
    import numpy as np
    import tensorflow as tf

    from tfreps._src.export.stored_weights import StoredWeights
    from tfreps._src.inference.run import Model
    from tfreps.export import open_for_export, write_portable_export

    rows, length = inputs[next(iter(inputs))].shape[:2]
    names, weights = list(inputs), StoredWeights([trained.model])
    vectors = weights.shared(
        lambda *given: trained.model(dict(zip(names, given, strict=True)))[output]
    )
    tensors = {name: tf.constant(array) for name, array in inputs.items()}
    specs = [
        tf.TensorSpec([None, None, *tensor.shape[2:]], tensor.dtype, name)
        for name, tensor in tensors.items()
    ]
    graph = weights.trace(lambda *given: {"y": vectors(*given)}, *specs)
    peers = {"tfreps, SavedModel": lambda: graph(**tensors)["y"].numpy(), **peers}
    with tempfile.TemporaryDirectory() as folder:
        form = "litert" if engine == "litert" else "onnx"
        written = write_portable_export(open_for_export(trained), folder, format=form)
        model = Model(written.folder, THREADS, engine)
        given = {"sequence_len": np.full([rows], length, "int32"), **inputs}
        given = {name: given[name] for name in model.about["inputs"]}
        return run.cells(lambda: model.function(given), rows * length, peers)


def embed(engine, run):
    """Computes one vector for each of 1,000 sentences."""
    import tfreps

    sentences = [line.strip() for line in lines()[:SENTENCES]]
    with tempfile.TemporaryDirectory() as folder:
        write_embedder(folder)
        options = {} if engine == "tensorflow" else {"engine": engine, "num_threads": THREADS}
        embedder = tfreps.load(folder, **options)
        peers = {
            f"sentence-transformers, {name}": Peer(
                "sentence_transformers_python",
                "sentence_transformers",
                (folder, backend, precision, sentences, THREADS),
            )
            for name, (backend, precision) in BACKENDS.items()
        }
        return run.cells(lambda: embedder(sentences).vectors, SENTENCES, peers, fewer=5)


def write_embedder(folder):
    """Writes a folder of sentence-transformers with random weights."""
    import keras

    from tfreps.inference import TextEmbedder
    from tfreps.models import BertEncoder, SentenceEmbedder
    from tfreps.text import PieceIndexer, WordPieceTokenizer

    keras.utils.set_random_seed(0)
    size = SHAPES["6x384"]
    special = WordPieceTokenizer.SPECIAL_TOKENS
    tokenizer = WordPieceTokenizer(pieces(size["vocabulary_size"], special))
    encoder = BertEncoder(**{**size, "vocabulary_size": len(tokenizer.vocabulary)})
    model = SentenceEmbedder(encoder, normalize=True)
    TextEmbedder(model, PieceIndexer(tokenizer)).save_pretrained(folder)


def decode(texts, tokens, tags, form, run):
    """Decodes a batch with an export of the decoder alone."""
    import numpy as np

    from tfreps.export import write_decoder

    rng = np.random.default_rng(0)
    inputs = {"logits": rng.normal(size=[texts, tokens, tags]).astype("float32")}
    inputs["mask"] = np.ones([texts, tokens], "bool")
    types = [f"X{number}" for number in range(tags // 2)]
    names = ["O", *(f"{letter}-{name}" for name in types for letter in "BI")][:tags]
    job = "viterbi", texts, tokens, tags, 1.0, THREADS
    peers = {"DeLFT": Peer("torch_python", "crf", ("delft", *job))}
    with tempfile.TemporaryDirectory() as folder:
        kind, _, only = form.partition("-")
        options = {"format": kind, "probabilities": not only}
        written = write_decoder(f"{folder}/decoder", names, "bio", **options)
        return run.cells(decoder(written, kind, inputs), texts * tokens, peers)


def decoder(written, kind, inputs):
    """Returns a function without arguments that calls a decoder."""
    import tensorflow as tf

    from tfreps._src.inference.run import STARTS

    if kind == "saved_model":
        function = tf.saved_model.load(str(written.folder)).signatures["serving_default"]
        inputs = {name: tf.constant(array) for name, array in inputs.items()}
        return lambda: function(**inputs)["tags"].numpy()
    engine = "litert" if kind == "litert" else "onnxruntime"
    _, function = STARTS[engine](str(written.file), THREADS)
    return lambda: function(inputs)


if __name__ == "__main__":
    raise SystemExit(main())
