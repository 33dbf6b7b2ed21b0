"""PortableModel: a trained model as a function of ids, and how text becomes these ids."""

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from tfreps._src.export.bert_signatures import BertSignatures
from tfreps._src.export.bilm_signatures import BiLMSignatures
from tfreps._src.export.signature_base import Signatures, count
from tfreps._src.models.bert import BertEncoder
from tfreps._src.models.classifier import Classifier
from tfreps._src.models.linear_encoder import LinearEncoder
from tfreps._src.models.many_langs import ManyLangsBiLM
from tfreps._src.models.sentence_embedder import SentenceEmbedder
from tfreps._src.models.transformer_encoder import TransformerEncoder
from tfreps._src.text.bert.character_tokens import CharacterTokenizer
from tfreps._src.text.bert.wordpiece import CONTINUATION
from tfreps._src.text.python_rules import python_pattern, python_rules
from tfreps._src.text.tokenizers import rules_of, tokenize

Tensors = dict[str, tf.Tensor]
SPANS = "span_types", "span_starts", "span_ends"


class PortableModel(NamedTuple):
    """Function from ids to the outputs of a model, and how text becomes these ids.

    Attributes:
        kind: str. `"tagger"`, `"classifier"`, `"embedder"`, `"bert"` or `"bilm"`.
        specs: dict from the names of the inputs to their `tf.TensorSpec`.
        function: Function from the inputs to a dict of outputs.
        read: Function from texts, str `[N]`, to a dict that contains the inputs. It splits texts
            with the operations of the original model.
        vocabulary: list of str. The tokens or pieces in the order of their ids.
        about: dict. Entries of model.json, which `run.py` reads: `text`, `pieces` for a BERT model,
            `names`, which are tags or labels, and the `temperature`; `scheme` and `span_types` for
            a tagger with a tag scheme; `num_layers` for a biLM; `vector_dim` and
            `similarity_fn_name` for an embedder.
        hashes: bool. Whether the model hashes ids in int64, as a `LinearEncoder` does.
    """

    kind: str
    specs: dict[str, tf.TensorSpec]
    function: Callable[[Tensors], Tensors]
    read: Callable[[tf.Tensor], Tensors]
    vocabulary: list[str]
    about: dict[str, Any]
    hashes: bool = False

    def description(self) -> dict[str, Any]:
        """Returns the content of model.json, without `format`, `file` and `engines`."""
        inputs = {name: _layout(spec, self.about) for name, spec in self.specs.items()}
        return {"kind": self.kind, "inputs": inputs, **self.about}


def portable_model(signatures: Signatures) -> PortableModel:
    """Converts a trained model to a `PortableModel`.

    `signatures` is the result of `open_for_export` for the model.

    Raises:
        ValueError: If the model contains a biLM of ELMoForManyLangs.
    """
    if any(model.find(ManyLangsBiLM) is not None for model in signatures.weights.models):
        raise ValueError(
            "A model with a biLM of ELMoForManyLangs can only be exported as a SavedModel, "
            "because run.py cannot compute the ids of words and characters for such a biLM. "
            "Omit `format` to write a SavedModel."
        )
    return model_of(signatures)


def model_of(signatures: Signatures) -> PortableModel:
    """Returns the `PortableModel` of any model that reads text.

    Only its `description` is valid if the model contains a biLM of ELMoForManyLangs.
    """
    if isinstance(signatures, BiLMSignatures):
        return _bilm(signatures)
    if isinstance(signatures, BertSignatures):
        return _bert(signatures)
    return _text_model(signatures)


def _bilm(signatures):
    reader, bilm = signatures.reader, signatures.bilm
    ids = _ids("token_ids")
    if reader.reads_characters:
        ids = _ids("character_ids", bilm.max_characters)
    specs = {ids.name: ids, "sequence_len": tf.TensorSpec([None], "int32", "sequence_len")}

    def function(inputs):
        outputs = signatures.outputs_of(bilm(inputs[ids.name]), inputs["sequence_len"])
        del outputs["sequence_len"]  # the graph has an input of the same name
        return outputs

    def read(texts):
        tokens = tokenize(texts)
        lengths = count(tokens != "")
        return {ids.name: reader.to_ids(tokens, lengths), "sequence_len": lengths}

    vocabulary = reader.vocabulary
    text = _text("spaces", unknown=getattr(vocabulary, "unknown_id", 0))
    about = {"text": text, "num_layers": bilm.num_layers}
    tokens = getattr(vocabulary, "tokens", [])
    return PortableModel("bilm", specs, function, read, tokens, about)


def _bert(signatures):
    tokenizer, encoder = signatures.indexer.tokenizer, signatures.encoder
    specs = _specs(["token_ids", "mask"])

    def function(inputs):
        lengths = tf.reduce_sum(tf.cast(inputs["mask"], "int32"), axis=1)
        outputs = signatures.outputs_of(encoder(inputs), lengths)
        del outputs["sequence_len"]
        return outputs

    max_tokens = tokenizer.max_pieces(signatures.max_length)
    about = {"text": _text(None, max_tokens=max_tokens), "pieces": _pieces(tokenizer)}
    read = _reader(signatures)
    return PortableModel("bert", specs, function, read, tokenizer.vocabulary, about)


def _text_model(signatures):
    trained, model = signatures.trained, signatures.model
    indexer, tokenizer = trained.indexer, trained.tokenizer
    read = {name for form in model._input_signatures() if isinstance(form, dict) for name in form}
    known = {
        "mask": True,
        "token_ids": indexer.vocabulary_size is not None,
        "piece_ids": getattr(indexer, "words", False),
    }
    names = [name for name, there in known.items() if there and name in {*read, "mask"}]
    specs = _specs(names)
    if "character_ids" in read and indexer.max_characters is not None:
        specs["character_ids"] = _ids("character_ids", indexer.max_characters)
    about: dict[str, Any] = {"text": _text_of(signatures)}
    if tokenizer is not None:
        about["pieces"] = _pieces(tokenizer)
    if isinstance(model, SentenceEmbedder):
        about["vector_dim"] = model.vector_dim
        about["similarity_fn_name"] = trained.similarity_fn_name
    else:
        about |= {"names": trained.names, "temperature": float(model.temperature)}
    if getattr(trained, "scheme", None) is not None:
        about |= {"scheme": trained.scheme, "span_types": model.span_types}
    vocabulary = tokenizer.vocabulary if tokenizer else getattr(indexer.vocabulary, "tokens", [])
    read = _reader(signatures)
    hashes = model.find(LinearEncoder) is not None
    return PortableModel(_kind(model), specs, _function(model), read, vocabulary, about, hashes)


def _reader(signatures):
    return lambda texts: signatures._read(texts)[0]


def _kind(model):
    kinds = {Classifier: "classifier", SentenceEmbedder: "embedder"}
    return next((kind for cls, kind in kinds.items() if isinstance(model, cls)), "tagger")


def _function(model):
    """Returns a function that computes the numeric outputs of a tagger, classifier or embedder.

    The function takes a dict of features, and returns a dict of outputs.
    """

    def function(features):
        if isinstance(model, Classifier):
            return {"probabilities": model(features)["probabilities"]}
        if isinstance(model, SentenceEmbedder):
            return {"vectors": model(features)["vectors"]}
        found = model.tag(features)
        outputs = {name: found[name] for name in ("tags", "confidences")}
        if "spans" in found:
            parts = tf.unstack(found["spans"], axis=-1)
            outputs |= dict(zip(SPANS, parts, strict=True))
            outputs["span_confidences"] = found["span_confidences"]
        return outputs

    return function


def _text_of(signatures):
    """Returns the entry `text` of model.json for a tagger, classifier or embedder.

    The entry is a dict that describes how text is tokenized.
    """
    trained, indexer = signatures.trained, signatures.trained.indexer
    reads_pieces = signatures.reads_pieces
    max_tokens = signatures.longest if trained.tokenizer is None else signatures.max_pieces
    method = None if reads_pieces else trained.tokens
    options = {
        name: getattr(indexer, name)
        for name in ("lowercase", "digits_to_zero", "lowercase_fallback")
        if trained.tokenizer is None
    }
    unknown = getattr(indexer.vocabulary, "unknown_id", 0)
    before = getattr(signatures, "before", "") or ""
    return _text(method, max_tokens, unknown, before, _learned_positions(trained.model), **options)


def _learned_positions(model):
    """Returns the number of position embeddings of the Transformer in a model.

    Returns `None` if there is no Transformer or if its positions are not learned.
    """
    part = model.find(BertEncoder) or model.find(TransformerEncoder)
    is_learned = part is not None and part.positions == "learned"
    return part.max_sequence_length if is_learned else None


def _text(
    method,
    max_tokens=None,
    unknown=0,
    before="",
    limit=None,
    lowercase=False,
    digits_to_zero=False,
    lowercase_fallback=False,
):
    """Returns the entry `text` of model.json, a dict by which `run.Model.read` tokenizes a text.

    `method` is the tokenization, `before` a string to put before each text, and `unknown` the id of
    unknown tokens. Texts are truncated to `max_tokens` tokens, and texts with more than `limit`
    tokens raise an error. The other arguments are options of `TokenIndexer`.
    """
    return {
        "before": before,
        "rules": None if method is None else python_rules(rules_of(method)),
        "keeps_spaces": method == "all_characters",
        "max_tokens": max_tokens,
        "limit": limit,
        "lowercase": lowercase,
        "digits": python_pattern(r"\p{Nd}") if digits_to_zero else None,
        "lowercase_fallback": lowercase_fallback,
        "unknown": unknown,
    }


def _pieces(tokenizer):
    """Returns the entry `pieces` of model.json, a dict by which `run.Model.pieces` splits text."""
    ends = tokenizer.start_id, tokenizer.separator_id
    about = {
        **tokenizer._python_steps(),
        "ends": [tokenizer.vocabulary[number] for number in ends],
        "unknown": tokenizer.unknown,
        "padding": tokenizer.padding_id,
        "continuation": None,
    }
    if not isinstance(tokenizer, CharacterTokenizer):
        about["continuation"] = CONTINUATION
        about["longest"] = tokenizer.longest_piece
        about["max_characters_per_word"] = tokenizer.max_characters_per_word
    return about


def _layout(spec, about):
    """Returns a dict that says how `run.py` pads an input: `width` and `padding`.

    These are arguments of `run.padded`. `spec` is the `tf.TensorSpec` of the input, and `about` is
    the dict of the entries of model.json.
    """
    width = None if spec.shape.rank < 3 else spec.shape[2] or 0
    by_pieces = "pieces" in about and spec.name in ("token_ids", "piece_ids")
    return {"width": width, "padding": about["pieces"]["padding"] if by_pieces else 0}


def _specs(names):
    """Returns a dict from the names of features to their `tf.TensorSpec`."""
    made = {"mask": tf.TensorSpec([None, None], "bool", "mask"), "piece_ids": _ids("piece_ids", 0)}
    return {name: made.get(name, _ids(name)) for name in names}


def _ids(name, width=None):
    """Returns the `tf.TensorSpec` of int32 ids, `[N, T]` or, with `width`, `[N, T, width]`.

    If `width` is 0, the size of the last axis is unknown.
    """
    shape = [None, None] if width is None else [None, None, width or None]
    return tf.TensorSpec(shape, "int32", name)
