"""Runs a model that `tfreps export` wrote for ONNX Runtime or LiteRT, without TensorFlow.

    python run.py "Ada lives in London."    prints a line of JSON for each text
    python run.py < texts.txt               reads one text per line

It needs NumPy, and onnxruntime, openvino or ai-edge-litert. In a program of your own:

    from run import Model
    print(Model(".")(["Ada lives in London."]))
"""

import itertools
import json
import pathlib
import re
import sys

import numpy as np

BATCH_TOKENS = 1024  # maximum number of tokens in a call of the model, padding included
LINES = 8  # number of lines of standard input that are read before their answers are printed
BOUNDARIES = {"<S>": [257], "</S>": [258]}  # character ids of the ends of a sentence
SPAN = "types", "starts", "ends", "confidences"


class Reader:
    """Splits texts into tokens and ids, as the content of a model.json describes it.

    `about` is this content, a dict, and `vocabulary` is the content of vocabulary.txt, as bytes.
    """

    def __init__(self, about, vocabulary):
        self.about = about
        lines = vocabulary.decode("utf-8").split("\n")[:-1]
        self.ids = {token: number for number, token in enumerate(lines)}
        self.makers = {
            "token_ids": self.token_id,
            "character_ids": self.character_ids,
            "piece_ids": self.piece_ids,
        }
        self.num_truncated = 0  # number of texts of which the model did not read all tokens
        if "pieces" in self.about:
            self.unknown = self.about["pieces"]["unknown"]
            self.replaced = str.maketrans(self.about["pieces"]["replaced"])

    def tokenize(self, text):
        """Returns a list of the tokens of a text; for most BERT models, of its pieces."""
        about = self.about["text"]
        text = about["before"] + text
        if about["rules"] is None:  # the model is a BERT model, which reads pieces
            start, separator = self.about["pieces"]["ends"]
            pieces = self.pieces(text)
            kept = pieces[: about["max_tokens"]]
            self.num_truncated += len(kept) < len(pieces)
            return [start, *kept, separator]
        for pattern, new in about["rules"]:
            text = re.sub(pattern, new, text)
        return text.split()

    def read(self, tokens):
        """Returns a list of the tokens that the model reads, and a dict of their features.

        The dict maps the name of each feature to a list, which contains a list of ids for each
        token.
        """
        about = self.about["text"]
        longest = about["max_tokens"]
        if about["rules"] is None:
            unknown = self.ids[self.unknown]
            return tokens, {"token_ids": [[self.ids.get(piece, unknown)] for piece in tokens]}
        makers = {name: self.makers[name] for name in self.about["inputs"] if name in self.makers}
        features = {name: [make(token) for token in tokens] for name, make in makers.items()}
        ends = np.cumsum([len(ids) for ids in features.get("piece_ids", [[0]] * len(tokens))])
        if longest is not None:
            kept = tokens[: int(np.sum(ends <= longest))]
            self.num_truncated += len(kept) < len(tokens)
            tokens = kept
        added = 2 if "piece_ids" in features else 0  # pieces at the start and the end of the text
        size, limit = ends[len(tokens) - 1] + added if tokens else 0, about["limit"]
        if limit and size > limit:
            text = " ".join(tokens)
            raise ValueError(
                f"Expected at most {limit} tokens or pieces; got {size}: {text!r}. Split the text."
            )
        return tokens, {name: ids[: len(tokens)] for name, ids in features.items()}

    def token_id(self, token):
        if "pieces" in self.about:
            return self.piece_ids(token)[:1]
        about = self.about["text"]
        token = token.lower() if about["lowercase"] else token
        token = re.sub(about["digits"], "0", token) if about["digits"] else token
        if about["lowercase_fallback"] and self.ids.get(token) in (None, about["unknown"]):
            token = token.lower()
        return [self.ids.get(token, about["unknown"]) + 1]

    def character_ids(self, token):
        """Returns ELMo's character ids: the bytes of the token between two markers, and padding."""
        size = self.about["inputs"]["character_ids"]["width"]
        own = [byte + 1 for byte in token.encode("utf-8", "ignore")[: size - 2]]
        return ([259, *BOUNDARIES.get(token, own), 260] + [261] * size)[:size]

    def piece_ids(self, word):
        return [self.ids[piece] for piece in self.pieces(word) or [self.unknown]]

    def pieces(self, text):
        """Returns a list of the pieces into which a BERT model splits a text."""
        about = self.about["pieces"]
        text = re.sub(about["dropped"], "", text).translate(self.replaced)
        words = re.findall(about["word"], text, re.DOTALL)
        if about["continuation"]:
            return [piece for word in words for piece in self.word_pieces(word)]
        number = about["number"]
        words = [number if number and "0" <= word[0] <= "9" else word for word in words]
        return [word if word in self.ids else self.unknown for word in words]

    def word_pieces(self, word):
        """Splits a word from its start into the longest pieces; returns a list of str."""
        about, pieces, start = self.about["pieces"], [], 0
        while start < len(word):
            prefix = about["continuation"] if start else ""
            ends = range(min(len(word), start + about["longest"]), start, -1)
            end = next((end for end in ends if prefix + word[start:end] in self.ids), None)
            if end is None or len(word) > about["max_characters_per_word"]:
                return [self.unknown]
            pieces.append(prefix + word[start:end])
            start = end
        return pieces


class Model(Reader):
    """Model in a folder. A call with a list of texts returns a list of one dict per text.

    `threads` is the number of CPU threads; by default, the engine chooses it. `engine` is one of
    the engines in model.json; by default, the first one.
    """

    def __init__(self, folder, threads=None, engine=None):
        self.folder = folder = pathlib.Path(folder)
        about = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        super().__init__(about, (folder / "vocabulary.txt").read_bytes())
        start = STARTS[engine or about["engines"][0]]
        self.session, self.function = start(str(folder / about["file"]), threads)
        kinds = {"tagger": self.tagged, "classifier": self.classified}
        self.answer = kinds.get(self.about["kind"], self.embedded)

    def __call__(self, texts):
        if isinstance(texts, str):
            raise TypeError("Expected a list of texts; got a single string. Pass [text] instead.")
        return [{"text": text, **self.answer(text, *more)} for text, *more in self.rows(texts)]

    def rows(self, texts):
        """Calls the model in batches of texts of similar length.

        `texts` is a list of texts or lists of tokens. Returns a list of tuples: the text, its
        tokens, and a dict of its outputs, which are arrays that may end with padding.
        """
        split = [self.tokenize(text) if isinstance(text, str) else list(text) for text in texts]
        read = [self.read(tokens) for tokens in split]
        order = sorted(range(len(read)), key=lambda number: len(read[number][0]))
        rows = {}
        for batch in batches(order, [len(tokens) for tokens, _ in read]):
            outputs = self.function(self.inputs([read[number][1] for number in batch]))
            for row, number in enumerate(batch):
                found = {name: output[row] for name, output in outputs.items()}
                rows[number] = texts[number], read[number][0], found
        return [rows[number] for number in range(len(read))]

    def inputs(self, rows):
        """Returns a dict of the model's inputs, padded to the longest text of the batch."""
        lengths = np.array([len(next(iter(row.values()))) for row in rows], "int32")
        length = max(1, *lengths)
        inputs = {"sequence_len": lengths, "mask": np.arange(length) < lengths[:, None]}
        for name, about in self.about["inputs"].items():
            if name in rows[0]:
                inputs[name] = padded([row[name] for row in rows], length, **about)
        return {name: inputs[name] for name in self.about["inputs"]}

    def tagged(self, text, tokens, found):
        tags = [self.about["names"][tag] for tag in found["tags"][: len(tokens)]]
        shares = found["confidences"][: len(tokens)].tolist()
        answer = {"tokens": tokens, "tags": tags, "confidences": shares}
        if "span_types" in found:
            keeps_spaces = self.about["text"]["keeps_spaces"]
            offsets = None
            if isinstance(text, str):
                offsets = token_offsets(text, tokens, keeps_spaces)
            spans = zip(*(found[f"span_{name}"].tolist() for name in SPAN), strict=True)
            answer["spans"] = [self.span(text, offsets, *span) for span in spans if span[2] > 0]
        return answer

    def span(self, text, offsets, kind, start, end, confidence):
        """Returns a span as a dict; `text` is a list of tokens if `offsets` is None."""
        first, last = (offsets[start][0], offsets[end - 1][1]) if offsets else (None, None)
        part = text[first:last] if offsets else " ".join(text[start:end])
        place = {"start": start, "end": end, "start_char": first, "end_char": last}
        kind = self.about["span_types"][kind]
        return {"type": kind, **place, "text": part, "confidence": confidence}

    def classified(self, text, tokens, found):
        shares = dict(zip(self.about["names"], found["probabilities"].tolist(), strict=True))
        label = max(shares, key=shares.get)
        return {"label": label, "confidence": shares[label], "probabilities": shares}

    def embedded(self, text, tokens, found):
        return {"vectors": found["vectors" if "vectors" in found else "default"].tolist()}


def batches(order, lengths):
    """Yields lists of numbers of texts, from the shortest text on.

    `lengths[number]` is the number of tokens of a text. The texts of a list have at most
    `BATCH_TOKENS` tokens, padding included, unless it contains a single text.
    """
    batch = []
    for number in order:
        if batch and (len(batch) + 1) * lengths[number] > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


def token_offsets(text, tokens, keeps_spaces=False):
    """Returns the (start, end) of each token in the text, as a list of pairs of int.

    The tokens must occur in the text in their order. Ends are exclusive. With `keeps_spaces`, each
    character is a token, also white space, for which the token is another character.
    """
    if keeps_spaces:
        return [(place, place + 1) for place in range(len(tokens))]
    offsets, position = [], 0
    for token in tokens:
        places = [position := text.index(character, position) + 1 for character in token]
        offsets.append((places[0] - 1, places[-1]))
    return offsets


def padded(rows, length, width, padding):
    """Converts the ids of N texts to an int32 array, filled with `padding`.

    `rows` contains, for each text, a list of ids for each token, and T is `length`. The shape is
    `[N, T]` if `width` is None, otherwise `[N, T, width]`. If `width` is 0, the largest number
    of ids of a token is used as the width.
    """
    size = width or max((len(ids) for row in rows for ids in row), default=1)
    array = np.full([len(rows), length, size], padding, "int32")
    for row, tokens in enumerate(rows):
        for place, ids in enumerate(tokens):
            array[row, place, : len(ids)] = ids
    return array[..., 0] if width is None else array


def start_onnxruntime(path, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or 0
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return session, lambda inputs: dict(zip(names, session.run(names, inputs), strict=True))


def start_openvino(path, threads):
    import openvino

    options = {"INFERENCE_PRECISION_HINT": "f32"}  # on some CPUs, the default is bfloat16
    options |= {"INFERENCE_NUM_THREADS": threads} if threads else {}
    model = openvino.compile_model(path, "CPU", options)

    def function(inputs):
        found = model(inputs, share_outputs=False)
        return {name: found[output] for output in model.outputs for name in output.names}

    return model, function


def start_litert(path, threads):
    from ai_edge_litert.interpreter import Interpreter

    runner = Interpreter(path, num_threads=threads).get_signature_runner()
    return runner, lambda inputs: runner(**inputs)


STARTS = {"onnxruntime": start_onnxruntime, "openvino": start_openvino, "litert": start_litert}


def main(arguments):
    for stream in sys.stdin, sys.stdout:
        stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    model = Model(pathlib.Path(__file__).parent)
    texts = iter(arguments) if arguments else (line.rstrip("\r\n") for line in sys.stdin)
    while block := list(itertools.islice(texts, LINES)):
        for answer in model(block):
            print(json.dumps(answer, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
