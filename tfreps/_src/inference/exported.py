"""Exported models that read raw text, without TensorFlow for ONNX and LiteRT."""

import os
from collections.abc import Iterable, Sequence
from typing import Any, overload

import numpy as np

from tfreps._src.convert.similarity_names import Similarity
from tfreps._src.files.argument_checks import as_list
from tfreps._src.inference.embedding_methods import EmbeddingMethods
from tfreps._src.inference.outputs import (
    ClassifiedText,
    TaggedText,
    TextEmbeddings,
    TextSpan,
    TextVectors,
)
from tfreps._src.inference.text_pipe import TextPipe
from tfreps._src.text.tags.tag_schemes import Scheme

# Methods of the objects that read text with a Keras model.
OF_KERAS_MODELS = (
    "attention",
    "batches",
    "likely_spans",
    "save_pretrained",
    "save_to_preset",
    "sentence_encoder",
    "stream",
    "transformer",
    "upload_preset",
)


class ExportedModel(TextPipe):
    """Base class of the objects that `tfreps.load` returns for an export.

    Args:
        program: `Model` of the program `run.py`, or `SavedModelProgram`, opened on the folder of
            the export.
        source: str or path-like. Path of the export. Defaults to `None`.

    Attributes:
        model: The session of the engine, such as an `onnxruntime.InferenceSession`, or the object
            that `tf.saved_model.load` returns.
        run: `None`, as for other models without a run folder.
    """

    kind: str = "an exported model"
    run: None = None

    def __init__(self, program: Any, source: str | os.PathLike[str] | None = None):
        self.program: Any = program
        self.model: Any = program.session
        self.source: str | os.PathLike[str] | None = source

    def __getattr__(self, name: str) -> Any:
        if name in OF_KERAS_MODELS:
            raise AttributeError(
                f"`{name}` needs the Keras model, which the export {self.source} does not contain. "
                "Load the run folder or the published model instead."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __call__(self, text: Any) -> Any:
        """Applies the model to a text or to several texts; subclasses define what is returned."""
        raise NotImplementedError

    @property
    def num_truncated(self) -> int:
        """Number of texts so far of which the model did not read all tokens."""
        return self.program.num_truncated

    def truncation_message(self) -> str:
        """Returns a message with the number of texts that were truncated."""
        about = self.program.about["text"]
        most = about["max_tokens"] + 2 * (about["rules"] is None)  # [CLS] and [SEP] count, too
        return f"{self.num_truncated:,} texts were truncated to {most} tokens, as in training."

    def tokenize(self, texts: Iterable[str]) -> list[list[str]]:
        """Tokenizes raw texts as in training.

        Args:
            texts: iterable of str. Raw texts.

        Returns:
            list of lists of str. The tokens of each text.
        """
        return [self.program.tokenize(text) for text in as_list("`texts`", texts)]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.source}>"

    def _answers(self, texts: Iterable[str | Sequence[str]]) -> list[dict[str, Any]]:
        return self.program(as_list("`texts`", texts))

    def _rows(self, texts: Sequence[str | Sequence[str]]) -> list[tuple]:
        return self.program.rows(texts)


class ExportedTagger(ExportedModel):
    """Exported tagger for raw texts, which `tfreps.load` returns for the export of a tagger.

    It returns the same outputs as `tfreps.inference.TextTagger`.

    Attributes:
        names: list of str. The tags in the order of their ids.
        scheme: str or None. Tag scheme of the spans, as defined in `tfreps.tags`. If `None`, the
            tags do not form spans.
        temperature: float. Temperature of the model, by which it divides its scores.
    """

    kind = "a tagger"
    is_tagger = True

    def __init__(self, program: Any, source: str | os.PathLike[str] | None = None):
        super().__init__(program, source)
        self.names: list[str] = program.about["names"]
        self.scheme: Scheme | None = program.about.get("scheme")
        self.temperature: float = program.about["temperature"]

    @overload  # this overload overlaps the next one, because a str is an Iterable[str]
    def __call__(self, text: str) -> TaggedText: ...  # pyright: ignore[reportOverlappingOverload]

    @overload
    def __call__(self, text: Iterable[str | Sequence[str]]) -> list[TaggedText]: ...

    def __call__(self, text: Any) -> Any:
        """Returns the `TaggedText` of one raw text, or the result of `tag` for several texts."""
        return self.tag([text])[0] if isinstance(text, str) else self.tag(text)

    def tag(
        self, texts: Iterable[str | Sequence[str]], locations: Sequence[str] | None = None
    ) -> list[TaggedText]:
        """Tags texts.

        Args:
            texts: iterable, such as a list or an open file. Raw texts of one sentence each, or
                lists of tokens. A list of tokens may be empty.
            locations: list of str. This argument is ignored. Defaults to `None`.

        Returns:
            list of `TaggedText`, one per text.

        Raises:
            ValueError: If `texts` is a single string or an entry is not a text, or if a sentence
                has more tokens or pieces than the model has position embeddings.
        """
        found = []
        for answer in self._answers(texts):
            text = answer["text"] if isinstance(answer["text"], str) else None
            spans = [TextSpan(**span) for span in answer.get("spans", [])]
            own = answer["tokens"], answer["tags"], answer["confidences"]
            found.append(TaggedText(*own, self.scheme, text, spans))
        return found


class ExportedClassifier(ExportedModel):
    """Exported classifier for raw texts, which `tfreps.load` returns for the export of one.

    It returns the same outputs as `tfreps.inference.TextClassifier`.

    Attributes:
        names: list of str. The labels in the order of their ids.
        temperature: float. Temperature of the model, by which it divides its scores.
    """

    kind = "a classifier"
    is_tagger = False

    def __init__(self, program: Any, source: str | os.PathLike[str] | None = None):
        super().__init__(program, source)
        self.names: list[str] = program.about["names"]
        self.temperature: float = program.about["temperature"]

    @overload  # this overload overlaps the next one, because a str is an Iterable[str]
    def __call__(self, text: str) -> ClassifiedText: ...  # pyright: ignore[reportOverlappingOverload]

    @overload
    def __call__(self, text: Iterable[str | Sequence[str]]) -> list[ClassifiedText]: ...

    def __call__(self, text: Any) -> Any:
        """Returns the `ClassifiedText` of one raw text, or `classify(text)` for several texts."""
        return self.classify([text])[0] if isinstance(text, str) else self.classify(text)

    def classify(self, texts: Iterable[str | Sequence[str]]) -> list[ClassifiedText]:
        """Classifies texts. Texts are truncated as in training.

        Args:
            texts: iterable. Raw texts, or lists of tokens as returned by `tokenize`. A list of
                tokens may be empty.

        Returns:
            list of `ClassifiedText`, one per text.

        Raises:
            ValueError: If `texts` is a single string or an entry is not a text, or if a truncated
                text has more tokens than the model has position embeddings.
        """
        found = []
        for answer in self._answers(texts):
            text = answer["text"] if isinstance(answer["text"], str) else None
            found.append(ClassifiedText(answer["label"], answer["probabilities"], text))
        return found


class ExportedEmbedder(EmbeddingMethods, ExportedModel):
    """Exported text embedder, which `tfreps.load` returns for the export of one.

    It returns the same outputs as `tfreps.inference.TextEmbedder`. The prompt that was the default
    when the model was exported is put in front of each text.

    Attributes:
        vector_dim: int. Size of a vector.
        similarity_fn_name: str. Similarity that the method `similarity` computes: `"cosine"`,
            `"dot"`, `"euclidean"` or `"manhattan"`.
    """

    kind = "a text embedder"

    def __init__(self, program: Any, source: str | os.PathLike[str] | None = None):
        super().__init__(program, source)
        self.vector_dim: int = program.about["vector_dim"]
        self.similarity_fn_name: Similarity = program.about.get("similarity_fn_name", "cosine")

    def __call__(self, text: str | Iterable[str]) -> TextEmbeddings:
        """Computes the vectors of one raw text or of several texts.

        Args:
            text: str, or iterable of str.

        Returns:
            `TextEmbeddings` with vectors of shape `[D]` for a str, and `[N, D]` for several texts.
        """
        if isinstance(text, str):
            return TextEmbeddings(text, self.embed([text]).vectors[0])
        return self.embed(text)

    def embed(self, texts: Iterable[str]) -> TextEmbeddings:
        """Computes the vectors of raw texts. Texts are truncated as in training.

        Args:
            texts: iterable of str. Raw texts, such as a list or an open file.

        Returns:
            `TextEmbeddings` with the texts and their vectors, float32 `[N, D]`.

        Raises:
            ValueError: If `texts` is not an iterable of strings, or if a truncated text has more
                tokens than the model has position embeddings.
        """
        texts = as_list("`texts`", texts)
        lists = [text for text in texts if not isinstance(text, str)]
        if lists:
            raise ValueError(f"`texts` must be raw texts, not lists of tokens; got {lists[0]!r}.")
        vectors = np.array([found["vectors"] for _, _, found in self._rows(texts)], "float32")
        return TextEmbeddings(texts, vectors.reshape(len(texts), self.vector_dim))

    def _embed(self, texts: list[str], prompt: str | None) -> TextEmbeddings:
        if prompt is not None:
            raise ValueError(
                f"`prompt` must be None for {self.source}, because an export contains only the "
                f"prompt that was the default; got {prompt!r}. Omit it, or load the model itself."
            )
        return self.embed(texts)


class ExportedBiLM(ExportedModel):
    """Exported biLM, which `tfreps.load` returns for the export of one.

    It returns the same outputs as `tfreps.inference.TextBiLM`.

    Attributes:
        num_layers: int. Number of LSTM layers.
        max_bytes: int or None. Number of bytes of a token that the biLM reads, or `None` if the
            biLM reads ids of whole tokens.
    """

    kind = "a biLM"

    def __init__(self, program: Any, source: str | os.PathLike[str] | None = None):
        super().__init__(program, source)
        self.num_layers: int = program.about["num_layers"]
        ids = program.about["inputs"].get("character_ids")
        self.max_bytes: int | None = ids and ids["width"] - 2  # two mark the ends of the token

    @overload  # this overload overlaps the next one, because a str is an Iterable[str]
    def __call__(self, text: str) -> TextVectors: ...  # pyright: ignore[reportOverlappingOverload]

    @overload
    def __call__(self, text: Iterable[str | Sequence[str]]) -> list[TextVectors]: ...

    def __call__(self, text: Any) -> Any:
        """Returns the `TextVectors` of one raw text, or a list of them for several texts.

        Args:
            text: str, or iterable of str or of lists of tokens. A text is split at white space.

        Returns:
            `TextVectors` with the vectors of all layers, `[L + 1, T, D]`; for several texts, a list
            of `TextVectors`.

        Raises:
            ValueError: If an entry is not a text.
        """
        texts = as_list("`text`", [text] if isinstance(text, str) else text)
        found = [TextVectors(tokens, _layers(tokens, row)) for _, tokens, row in self._rows(texts)]
        return found[0] if isinstance(text, str) else found


class ExportedBert(ExportedModel):
    """Exported BERT model without a head, which `tfreps.load` returns for the export of one.

    It returns the same outputs as `tfreps.inference.TextBert`.
    """

    kind = "a BERT model"

    @overload  # this overload overlaps the next one, because a str is an Iterable[str]
    def __call__(self, text: str) -> TextVectors: ...  # pyright: ignore[reportOverlappingOverload]

    @overload
    def __call__(self, text: Iterable[str]) -> list[TextVectors]: ...

    def __call__(self, text: Any) -> Any:
        """Returns the `TextVectors` of one raw text, or `encode(text)` for several texts."""
        return self.encode([text])[0] if isinstance(text, str) else self.encode(text)

    def encode(self, texts: Iterable[str]) -> list[TextVectors]:
        """Computes the vectors of raw texts. Texts are truncated as in training.

        Args:
            texts: iterable of str. Raw texts, such as a list or an open file.

        Returns:
            list of `TextVectors`, one per text, with the outputs of the last layer, `[T, D]`.

        Raises:
            ValueError: If `texts` is a single string or an entry is not a text.
        """
        return [
            TextVectors(tokens, row["sequence_output"][: len(tokens)], row.get("pooled_output"))
            for _, tokens, row in self._rows(as_list("`texts`", texts))
        ]


def _layers(tokens: list[str], found: dict[str, np.ndarray]) -> np.ndarray:
    """Returns the vectors of all layers of a biLM, `[L + 1, T, D]`.

    In layer 0, the vector of each token is repeated for each direction.
    """
    count = sum(name.startswith("lstm_outputs") for name in found)
    layers = [found[f"lstm_outputs{number}"] for number in range(1, count + 1)]  # each [T, D]
    first = found["word_emb"]  # [T, P]
    repeated = np.tile(first, layers[0].shape[-1] // first.shape[-1])  # [T, D]
    return np.stack([repeated, *layers])[:, : len(tokens)]
