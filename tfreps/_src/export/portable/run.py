"""Runs a model that `tfreps export` wrote for ONNX Runtime or LiteRT, without TensorFlow.

    python run.py "Ada lives in London."    prints a line of JSON for each text
    python run.py < texts.txt               reads one text per line

It needs NumPy, and onnxruntime or ai-edge-litert. In a program of your own:

    from run import Model
    print(Model(".")(["Ada lives in London."]))
"""

import itertools
import json
import pathlib
import re
import sys

import numpy as np

BATCH = 8  # maximum number of texts in a call of the model
BOUNDARIES = {"<S>": [257], "</S>": [258]}  # character ids of the ends of a sentence
SPAN = "types", "starts", "ends", "confidences"


class Model:
    """Model in a folder. A call with a list of texts returns a list of one dict per text."""

    def __init__(self, folder):
        self.folder = folder = pathlib.Path(folder)
        self.about = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        lines = (folder / "vocabulary.txt").read_bytes().decode("utf-8").split("\n")[:-1]
        self.ids = {token: number for number, token in enumerate(lines)}
        start = onnx_function if self.about["format"] == "onnx" else litert_function
        self.function = start(str(folder / self.about["file"]))
        kinds = {"tagger": self.tagged, "classifier": self.classified}
        self.answer = kinds.get(self.about["kind"], self.embedded)
        self.makers = {
            "token_ids": self.token_id,
            "character_ids": self.character_ids,
            "piece_ids": lambda word: [number for _, number in self.pieces(word) or [self.unknown]],
        }
        if "pieces" in self.about:
            self.unknown = tuple(self.about["pieces"]["unknown"])
            self.replaced = str.maketrans(self.about["pieces"]["replaced"])

    def __call__(self, texts):
        if isinstance(texts, str):
            raise TypeError("Expected a list of texts; got a single string. Pass [text] instead.")
        answers = []
        for first in range(0, len(texts), BATCH):
            block = texts[first : first + BATCH]
            read = [self.read(text) for text in block]
            outputs = self.function(self.inputs([features for _, features in read]))
            for row, (text, (tokens, _)) in enumerate(zip(block, read, strict=True)):
                found = {name: output[row] for name, output in outputs.items()}
                answers.append({"text": text, **self.answer(text, tokens, found)})
        return answers

    def read(self, text):
        """Returns a list of the tokens of a text, and a dict of the features of the tokens.

        The dict maps the name of each feature to a list, which contains a list of ids for each
        token.
        """
        about = self.about["text"]
        text, longest = about["before"] + text, about["max_tokens"]
        if about["rules"] is None:  # the model is a BERT model, which reads pieces
            start, separator = self.about["pieces"]["ends"]
            pieces = [start, *self.pieces(text)[:longest], separator]
            return [piece for piece, _ in pieces], {"token_ids": [[n] for _, n in pieces]}
        for pattern, new in about["rules"]:
            text = re.sub(pattern, new, text)
        tokens = text.split()
        makers = {name: self.makers[name] for name in self.about["inputs"] if name in self.makers}
        features = {name: [make(token) for token in tokens] for name, make in makers.items()}
        ends = np.cumsum([len(ids) for ids in features.get("piece_ids", [[0]] * len(tokens))])
        tokens = tokens if longest is None else tokens[: int(np.sum(ends <= longest))]
        added = 2 if "piece_ids" in features else 0  # pieces at the start and the end of the text
        size, limit = ends[len(tokens) - 1] + added if tokens else 0, about["limit"]
        if limit and size > limit:
            raise ValueError(
                f"Expected at most {limit} tokens or pieces; got {size}: {text!r}. Split the text."
            )
        return tokens, {name: ids[: len(tokens)] for name, ids in features.items()}

    def token_id(self, token):
        if "pieces" in self.about:
            return self.makers["piece_ids"](token)[:1]
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

    def pieces(self, text):
        """Splits a text into the pieces of a BERT model; returns a list of (piece, id)."""
        about = self.about["pieces"]
        text = re.sub(about["dropped"], "", text).translate(self.replaced)
        words = re.findall(about["word"], text, re.DOTALL)
        if about["continuation"]:
            return [piece for word in words for piece in self.word_pieces(word)]
        number = about["number"]
        words = [number if number and "0" <= word[0] <= "9" else word for word in words]
        return [(word, self.ids[word]) if word in self.ids else self.unknown for word in words]

    def word_pieces(self, word):
        """Splits a word from its start into the longest pieces; returns a list of (piece, id)."""
        about, pieces, start = self.about["pieces"], [], 0
        while start < len(word):
            prefix = about["continuation"] if start else ""
            ends = range(min(len(word), start + about["longest"]), start, -1)
            end = next((end for end in ends if prefix + word[start:end] in self.ids), None)
            if end is None or len(word) > about["max_characters_per_word"]:
                return [self.unknown]
            pieces.append((prefix + word[start:end], self.ids[prefix + word[start:end]]))
            start = end
        return pieces

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
            offsets = token_offsets(text, tokens)
            spans = zip(*(found[f"span_{name}"].tolist() for name in SPAN), strict=True)
            answer["spans"] = [self.span(text, offsets, *span) for span in spans if span[2] > 0]
        return answer

    def span(self, text, offsets, kind, start, end, confidence):
        first, last = offsets[start][0], offsets[end - 1][1]
        place = {"start": start, "end": end, "start_char": first, "end_char": last}
        kind = self.about["span_types"][kind]
        return {"type": kind, **place, "text": text[first:last], "confidence": confidence}

    def classified(self, text, tokens, found):
        shares = dict(zip(self.about["names"], found["probabilities"].tolist(), strict=True))
        label = max(shares, key=shares.get)
        return {"label": label, "confidence": shares[label], "probabilities": shares}

    def embedded(self, text, tokens, found):
        return {"vectors": found["vectors" if "vectors" in found else "default"].tolist()}


def token_offsets(text, tokens):
    """Returns the (start, end) of each token in the text, as a list of pairs of int.

    The tokens must occur in the text in their order. Ends are exclusive.
    """
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


def onnx_function(path):
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda inputs: dict(zip(names, session.run(names, inputs), strict=True))


def litert_function(path):
    from ai_edge_litert.interpreter import Interpreter

    runner = Interpreter(path).get_signature_runner()
    return lambda inputs: runner(**inputs)


def main(arguments):
    for stream in sys.stdin, sys.stdout:
        stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    model = Model(pathlib.Path(__file__).parent)
    texts = iter(arguments) if arguments else (line.rstrip("\r\n") for line in sys.stdin)
    while block := list(itertools.islice(texts, BATCH)):
        for answer in model(block):
            print(json.dumps(answer, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
