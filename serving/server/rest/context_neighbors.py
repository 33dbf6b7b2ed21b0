"""ContextNeighbors: finds words whose contextual vectors in a biLM are similar."""

import asyncio
import weakref

import numpy as np

from tfreps.serving.server.rest.json_requests import invalid

MOST_TEXTS = 200
BATCH = 16
WORDS_AROUND = 5


class ContextNeighbors:
    """Search for the words whose contextual vectors are most similar to the vector of a given word.

        similarity = x . y / (|x| |y|)        x, y: the output `elmo` for the two words

    The words of `sentences` are candidates in every search. Their vectors are computed on the first
    request to a model, and again when the version of the model changes. The vectors of the texts in
    a request are not stored.

    Args:
        core: `ServingCore` with the models.
        sentences: iterable of str. Defaults to `()`.
    """

    def __init__(self, core, sentences=()):
        self._core = core
        self._sentences = list(sentences)
        self._lock = asyncio.Lock()
        self._kept = {}  # model -> (reference to its Servable, words, vectors)

    async def find(self, call, model, texts, text, token, k=10):
        """Returns the words that are most similar to a word of a text, as a list of dicts.

        The word has the index `token` in `texts[text]`, and is not among the results. Each result
        is a dict with the keys `token` (the word), `left` and `right` (up to five words of context
        on each side), `from` (such as `"text 2"` or `"sentence 14"`, counted from 1) and
        `similarity` (a float). The most similar word is first.

        There may be 1 to 200 texts, and there are at most `k` results. Raises a ServingError if an
        argument is not valid, or the model has no contextual vectors.
        """
        if not 1 <= len(texts) <= MOST_TEXTS:
            raise invalid(f"`texts` must contain 1 to {MOST_TEXTS} texts; got {len(texts)}.")
        if not 0 <= text < len(texts):
            raise invalid(
                "`text` must be the index of one of the `texts`, at least 0 and less than "
                f"{len(texts)}; got {text}."
            )
        with self._core.pool.lease(model) as (_, servable):
            words, vectors = await self._embed(call, model, servable, texts, "text")
            others = await self._of_sentences(call, model, servable)
        here = [position for position, word in enumerate(words) if word["where"] == (text, token)]
        if not here:
            raise invalid(
                f"`token` must be the index of a token in text {text}, counted from 0; got {token}."
            )
        wanted = vectors[here[0]]
        words = words + others[0]
        similarity = np.concatenate([vectors @ wanted, others[1] @ wanted])
        similarity[here[0]] = -np.inf
        best = np.argsort(-similarity, kind="stable")[: min(k, len(words) - 1)]
        return [shown(words[position], similarity[position]) for position in best]

    async def _of_sentences(self, call, model, servable):
        async with self._lock:
            if model not in self._kept or self._kept[model][0]() is not servable:
                found = await self._embed(call, model, servable, self._sentences, "sentence")
                self._kept[model] = (weakref.ref(servable), *found)
            return self._kept[model][1:]

    async def _embed(self, call, model, servable, texts, kind):
        """Returns a list of the words of texts, and their normalized vectors, float32 `[words, D]`.

        Each word is a dict with the keys `tokens` (the tokens of its text), `where` (the index of
        its text, and its index in this text) and `kind`, which is the argument `kind`.
        """
        signature = text_signature(servable)
        if signature is None or "elmo" not in signature.outputs:
            raise invalid(
                f"The model {model!r} must have a signature for raw text with the output `elmo`, "
                "which contains contextual vectors. Use a biLM exported by `tfreps export`."
            )
        words = []
        vectors = [np.zeros([0, signature.outputs["elmo"].shape[-1]], "float32")]
        wanted = sorted({"elmo", "sequence_len", "tokens"} & set(signature.outputs))
        for start in range(0, len(texts), BATCH):
            batch = np.array([text.encode("utf-8", "replace") for text in texts[start:][:BATCH]])
            servable.prepare(call, signature, {"text": batch.astype(object)}, wanted)
            outputs = await servable.run(call)
            for row, length in enumerate(outputs["sequence_len"]):
                # A biLM whose export lacks the output `tokens` splits texts at spaces.
                tokens = (
                    outputs["tokens"][row][:length] if "tokens" in outputs else batch[row].split()
                )
                tokens = [token.decode("utf-8", "replace") for token in tokens]
                words += [
                    {"tokens": tokens, "where": (start + row, position), "kind": kind}
                    for position in range(length)
                ]
                vectors.append(outputs["elmo"][row][:length])
        vectors = np.concatenate(vectors)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return words, vectors / np.maximum(lengths, 1e-12)


def text_signature(servable):
    """Returns the `Signature` of a model whose only input is raw text, or `None` if there is none.

    The signature `explain` takes precedence over `default` and `serving_default`.
    """
    for name in ("explain", "default", "serving_default"):
        signature = servable.signatures.get(name)
        if signature is not None and set(signature.inputs) == {"text"}:
            return signature
    return None


def shown(word, similarity):
    """Returns the dict that describes a word in the results of `ContextNeighbors.find`."""
    tokens = word["tokens"]
    number, position = word["where"]
    return {
        "token": tokens[position],
        "left": " ".join(tokens[max(position - WORDS_AROUND, 0) : position]),
        "right": " ".join(tokens[position + 1 :][:WORDS_AROUND]),
        "from": f"{word['kind']} {number + 1}",
        "similarity": round(float(similarity), 4),
    }
