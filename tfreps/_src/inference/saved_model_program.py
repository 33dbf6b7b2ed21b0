"""SavedModelProgram: applies a SavedModel that tfreps exported to texts, as `run.Model` does."""

import logging
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfreps._src.files.saved_models import load_saved_model
from tfreps._src.inference import run
from tfreps._src.inference.export_outputs import call_signature, output_names, signature_rows

Texts = Sequence[str | Sequence[str]]


class SavedModelProgram(run.Reader):
    """Export as a SavedModel, with the methods and attributes of `run.Model`.

    The SavedModel itself splits texts and tokens. The methods of `run.Reader` are used to sort the
    texts by length, and to count the texts that are truncated.

    Args:
        folder: path of the SavedModel.
        about: dict. Content of the file model.json of the export.

    Raises:
        ValueError: If TensorFlow cannot load the SavedModel.
    """

    def __init__(self, folder: pathlib.Path, about: dict[str, Any]):
        self.folder = folder
        vocabulary = folder / "assets" / "vocabulary.txt"  # missing if the model reads characters
        super().__init__(about, vocabulary.read_bytes() if vocabulary.is_file() else b"")
        logging.getLogger("absl").setLevel(logging.ERROR)  # the export lacks gradients
        try:
            self.session: Any = load_saved_model(str(folder))
        except Exception as error:  # damaged protobufs and missing files raise errors of many types
            raise ValueError(
                f"{folder} cannot be loaded as a SavedModel. Export the model again. The error of "
                f"TensorFlow is: {error}"
            ) from error

    def __call__(self, texts: Texts) -> list[dict[str, Any]]:
        """Returns a dict for each text, as `run.Model` does."""
        answer = {"tagger": _tagged, "classifier": _classified}[self.about["kind"]]
        return [{"text": text, **answer(found)} for text, _, found in self.rows(texts)]

    def rows(self, texts: Texts) -> list[tuple]:
        """Returns a tuple for each text: the text, its tokens, and a dict of its outputs."""
        split = [self.tokenize(text) if isinstance(text, str) else list(text) for text in texts]
        read = [self.read(tokens)[0] for tokens in split]
        found: dict[int, tuple] = {}
        for name, chosen in ("default", True), ("tokens", False):
            numbers = [n for n, text in enumerate(texts) if isinstance(text, str) == chosen]
            order = sorted(numbers, key=lambda number: len(read[number]))
            for batch in run.batches(order, [len(tokens) for tokens in read]):
                rows = self._call(name, [texts[number] for number in batch])
                found |= {n: (texts[n], read[n], row) for n, row in zip(batch, rows, strict=True)}
        return [found[number] for number in range(len(read))]

    def _call(self, name: str, texts: Any) -> list[dict[str, Any]]:
        """Calls a signature with texts or lists of tokens; returns the outputs of each text."""
        signature = self.session.signatures[name]
        shapes = {key: spec.shape for key, spec in signature.structured_outputs.items()}
        outputs = call_signature(signature, texts)
        return signature_rows(outputs, output_names(shapes), texts)


def _tagged(found: dict[str, Any]) -> dict[str, Any]:
    answer = {"tokens": found["tokens"], "tags": found["tags"]}
    answer["confidences"] = np.asarray(found["confidences"]).tolist()
    if "spans" in found:
        answer["spans"] = [
            {name: value for name, value in span.items() if name != "tokens"}
            for span in found["spans"]
        ]
    return answer


def _classified(found: dict[str, Any]) -> dict[str, Any]:
    shares = dict(zip(found["labels"], found["probabilities"].tolist(), strict=True))
    return {"label": found["label"], "probabilities": shares}
