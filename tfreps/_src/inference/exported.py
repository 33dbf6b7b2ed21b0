"""Exported models that read raw text, without TensorFlow for ONNX and LiteRT."""

import os
from collections.abc import Iterable, Sequence
from typing import Any, overload

import numpy as np

from tfreps._src.files.argument_checks import as_list
from tfreps._src.inference.outputs import (
    ClassifiedText,
    TaggedText,
    TextEmbeddings,
    TextSpan,
    TextVectors,
)
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


class ExportedModel:
    """Base class of the objects that `tfreps.load` returns for an export.

    Args:
        program: `Model` of the program `run.py`, opened on the folder of the export.
        source: str or path-like. Path of the export. Defaults to `None`.

    Attributes:
        model: The session of the runtime, such as an `onnxruntime.InferenceSession`.
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


class ExportedTagger(ExportedModel):
    """Exported tagger for raw texts, which `tfreps.load` returns for the export of a tagger.

    It returns the same outputs as `tfreps.inference.TextTagger`.

    Attributes:
        names: list of str. The tags in the order of their ids.
        scheme: str or None. Tag scheme of the spans, as defined in `tfreps.tags`. If `None`, the
            tags do not form spans.
    """

    kind = "a tagger"

    def __init__(self, program: Any, source: str | os.PathLike[str] | None = None):
        super().__init__(program, source)
        self.names: list[str] = program.about["names"]
        self.scheme: Scheme | None = program.about.get("scheme")

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
    """

    kind = "a classifier"

    def __init__(self, program: Any, source: str | os.PathLike[str] | None = None):
        super().__init__(program, source)
        self.names: list[str] = program.about["names"]

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


class ExportedEmbedder(ExportedModel):
    """Exported text embedder, which `tfreps.load` returns for the export of one.

    It returns the same outputs as `tfreps.inference.TextEmbedder`. The prompt that was the default
    when the model was exported is put in front of each text.
    """

    kind = "a text embedder"

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
        vectors = np.array(
            [found["vectors"] for _, _, found in self.program.rows(texts)], "float32"
        )
        return TextEmbeddings(texts, vectors.reshape(len(texts), -1))


class ExportedEncoder(ExportedModel):
    """Exported biLM or BERT model, which `tfreps.load` returns for the export of one.

    It returns the same outputs as `tfreps.inference.TextBiLM` or `TextBert`.
    """

    kind = "a biLM or BERT model"

    @overload  # this overload overlaps the next one, because a str is an Iterable[str]
    def __call__(self, text: str) -> TextVectors: ...  # pyright: ignore[reportOverlappingOverload]

    @overload
    def __call__(self, text: Iterable[str | Sequence[str]]) -> list[TextVectors]: ...

    def __call__(self, text: Any) -> Any:
        """Returns the `TextVectors` of one raw text, or a list of them for several texts.

        Args:
            text: str, or iterable of str. For a biLM, also an iterable of lists of tokens.

        Returns:
            `TextVectors` with the vectors of all layers of a biLM, `[L + 1, T, D]`, or of the last
            layer of a BERT model, `[T, D]`; for several texts, a list of `TextVectors`.

        Raises:
            ValueError: If an entry is not a text.
        """
        texts = as_list("`text`", [text] if isinstance(text, str) else text)
        vectors = _layers if self.program.about["kind"] == "bilm" else _last_layer
        found = [vectors(tokens, row) for _, tokens, row in self.program.rows(texts)]
        return found[0] if isinstance(text, str) else found


def _layers(tokens: list[str], found: dict[str, np.ndarray]) -> TextVectors:
    """Returns the vectors of all layers of a biLM; those of the tokens stand there twice."""
    layers = [np.tile(found["word_emb"], 2)]  # each [T, D]
    while (name := f"lstm_outputs{len(layers)}") in found:
        layers.append(found[name])
    return TextVectors(tokens, np.stack(layers)[:, : len(tokens)])


def _last_layer(tokens: list[str], found: dict[str, np.ndarray]) -> TextVectors:
    vectors = found["sequence_output"][: len(tokens)]
    return TextVectors(tokens, vectors, found.get("pooled_output"))
