"""Signatures of a biLM: vectors of all layers for strings or ids, and language model scores."""

from typing import Any

import tensorflow as tf

from tfreps._src.export.bilm_reader import TokenReader
from tfreps._src.export.bilm_scoring import Scoring
from tfreps._src.export.signature_base import (
    LENGTHS,
    TEXT,
    TOKENS,
    Signatures,
    asset_folder,
    count,
    mean_over_tokens,
    real_tokens,
)
from tfreps._src.export.stored_weights import StoredWeights
from tfreps._src.models.any_bilm import AnyBiLM
from tfreps._src.models.bilm_pretrainer import BiLMPretrainer
from tfreps._src.models.elmo import Elmo
from tfreps._src.runs.vocabulary_checks import check_vocabulary
from tfreps._src.text.tokenizers import tokenize


class BiLMSignatures(Signatures):
    """Signatures of an exported biLM, which map strings or ids to dense tensors.

    Three signatures read `N` sentences of up to `T` tokens: `default`, `tokens` and

        character_ids   character_ids int32 [N, T, C], as returned by tfreps.text.batch_to_ids, and
                        sequence_len int32 [N]; for a model that reads token ids, the signature is
                        token_ids and takes token_ids int32 [N, T]; for a model of ELMoForManyLangs,
                        it is word_character_ids and takes word_character_ids int32 [N, T, 1 + C],
                        as returned by its tfreps.text.WordCharIndexer

    The three signatures return, with zeros on padding,

        word_emb        float32 [N, T, P], the token vectors, without context
        lstm_outputs1, ..., lstm_outputsL        float32 [N, T, 2P]
        elmo            float32 [N, T, 2P], the average of all layers, or the mix of an `Elmo`
        default         float32 [N, 2P], the mean of elmo over the sentence's tokens
        sequence_len    int32 [N]

    The signature `vectors` reads raw text. To keep responses small, it returns only `sequence_len`
    and the output `default`, under the name `vectors`. If the biLM is not bidirectional, `P`
    replaces `2P`. A model with a softmax and a vocabulary has two more signatures, `initial_states`
    and `score`, which `Scoring` describes. `explain` returns `tokens`, `elmo`, `sequence_len` and,
    for such a model, the outputs of `Scoring.surprise`. A model that reads token ids and has no
    vocabulary has no `default`, `tokens`, `vectors` or `explain`, and its `serving_default` is
    `token_ids`.

    Args:
        loaded: `tfreps.inference.TextBiLM`. Its vocabulary is needed for `score`, and for the
            signatures that read strings if the model reads token ids. For an `Elmo`, the output
            `elmo` is the first mix. A biLM with `initial_state="carry"` is exported with `"zero"`,
            because exports carry no states.
        explain: bool. Whether to add the signature `explain`. Defaults to `False`.

    The names of the signatures and outputs follow TF-Hub's `google/elmo`.
    """

    def __init__(self, loaded, explain=False):
        model = loaded.model
        bilm = loaded.bilm
        carries = "carry" in (bilm.initial_state, model.find(AnyBiLM).initial_state)
        if bilm.initial_state == "carry":
            bilm = bilm.with_initial_state("zero")
        self.bilm = bilm
        self.elmo = model if isinstance(model, Elmo) else None
        self.pretrainer = model if isinstance(model, BiLMPretrainer) else None
        check_vocabulary(model, loaded.vocabulary)
        vocabulary = loaded.word_characters or loaded.vocabulary
        self.reader = TokenReader(bilm, vocabulary, asset_folder(self))
        self.reads_text = self.reader.reads_characters or self.reader.table is not None
        self.text_counts = {
            "tokens": "spaces",
            "most_per_text": None,
            "attends": False,
            "added_per_text": 2,  # the start and the end of the sentence
        }
        kind = "a language model" if self.pretrainer is not None else "a biLM"
        title = f"ELMo: {kind} with {model.count_params():,} parameters ({type(model).__name__})"
        models = [m for m in (self.bilm, self.elmo, self.pretrainer) if m is not None]
        super().__init__(self.reader.table, StoredWeights(models), title, explain)
        self.encode = self.weights.shared(self.bilm)
        self.scoring = None
        if self.pretrainer is not None and self.reader.table is not None:
            self.scoring = Scoring(bilm, self.pretrainer, self.reader)
        self.notices = [_about_state(bilm.initial_state, carries, self.scoring is not None)]
        if explain and self.scoring is None:
            self.notices.append(self._about_explain())

    def more_functions(self) -> dict[str, Any]:
        """Returns a dict of traced functions, by name, for the signatures that only biLMs have."""
        trace = self.weights.trace
        ids = self.bilm._ids_spec()
        functions = {ids.name: trace(self.from_ids, ids, LENGTHS)}
        if self.reads_text:
            functions["vectors"] = trace(self.text_vectors, TEXT)
        else:
            functions["serving_default"] = functions[ids.name]
        if self.scoring is not None:
            states = {
                name: _spec(name, [None, *state.shape[1:]], tf.float32)
                for name, state in self.scoring.initial_states(1).items()
            }
            batch_size = _spec("batch_size", [])
            functions["initial_states"] = trace(self.scoring.initial_states, batch_size)
            functions["score"] = trace(self.scoring.score, TOKENS, LENGTHS, **states)
        return functions

    def _about_explain(self):
        """Returns a paragraph for the README that says which outputs of `explain` are missing.

        The paragraph is needed only for a model without a softmax or without a vocabulary.
        """
        if not self.reads_text:
            return (
                "There is no signature `explain`, because this model reads token ids and was "
                "exported without a vocabulary."
            )
        lacks = "softmax" if self.pretrainer is None else "vocabulary"
        return (
            "`explain` does not return the surprise of each token, because this model has no "
            f"{lacks}. These outputs require the language model and the vocabulary that it was "
            "trained with."
        )

    def expected(self, texts):
        tokens = tokenize(tf.constant(texts))
        lengths = count(tokens != "")
        out = self.bilm.predict_on_batch(self.reader.to_ids(tokens, lengths))
        layers = {
            f"lstm_outputs{number}": out["layer_outputs"][:, number]
            for number in range(1, self.bilm.num_layers + 1)
        }
        return {**layers, "sequence_len": lengths.numpy()}

    def from_text(self, text):
        tokens = tokenize(text)  # [N, T]
        return self.from_tokens(tokens, count(tokens != ""))

    def from_tokens(self, tokens, sequence_len):
        return self.outputs_of(self.encode(self.reader.to_ids(tokens, sequence_len)), sequence_len)

    def from_ids(self, ids, sequence_len):
        """Implements the signature that reads ids, int32 `[N, T, C]` or `[N, T]`.

        Returns the same dict of outputs as the signature `default`. The input `sequence_len` is
        needed because TensorFlow Serving, when it merges requests into a batch, pads the ids of
        each request with the first id of the request instead of 0.
        """
        real = real_tokens(ids, sequence_len)
        characters = self.reader.reads_characters
        is_token = tf.reduce_any(ids != 0, -1) if characters else ids != 0  # [N, T]
        message = "each token within `sequence_len` must have an id other than 0, which is padding"
        fits = tf.debugging.Assert(tf.reduce_all(is_token | ~real), [message])
        # Makes this assertion run before the checks of the model.
        with tf.control_dependencies([fits]):
            ids = tf.where(real[..., None] if characters else real, ids, 0)
        return self.outputs_of(self.encode(ids), sequence_len)

    def explain_text(self, text):
        tokens = tokenize(text)  # [N, T]
        sequence_len = count(tokens != "")
        out = self.encode(self.reader.to_ids(tokens, sequence_len))
        outputs = {"elmo": self._elmo(out)}
        if self.scoring is not None:
            outputs |= self.scoring.surprise(out, tokens, sequence_len)
        return {**outputs, "tokens": tokens, "sequence_len": sequence_len}

    def outputs_of(self, out, sequence_len):
        """Converts `out`, the dict that the biLM returns, to the outputs of `default`, a dict."""
        layers = out["layer_outputs"]  # [N, L+1, T, 2P]
        elmo = self._elmo(out)  # [N, T, 2P]
        outputs = {"word_emb": layers[:, 0, :, : self.bilm.projection_dim], "elmo": elmo}
        for number in range(1, self.bilm.num_layers + 1):
            outputs[f"lstm_outputs{number}"] = layers[:, number]
        outputs["default"] = mean_over_tokens(elmo, sequence_len)
        outputs = {name: tf.cast(output, tf.float32) for name, output in outputs.items()}
        return {**outputs, "sequence_len": tf.identity(sequence_len)}

    def _elmo(self, out):
        return tf.cast(tf.where(tf.expand_dims(out["mask"], -1), self._mix(out), 0.0), tf.float32)

    def _mix(self, out):
        if self.elmo is None:
            return tf.reduce_mean(out["layer_outputs"], axis=1)
        mix = self.elmo.mixes[0]
        if not self.elmo.keep_sentence_boundaries and self.elmo.layer_norm != "allennlp":
            return mix(out["layer_outputs"], mask=out["mask"])
        with_boundaries = out["layer_outputs_with_boundaries"]
        return mix(with_boundaries, mask=out["mask_with_boundaries"])[:, 1:-1]


def _about_state(initial_state, carries, scores):
    """Returns a paragraph for the README about the LSTM state at the start of each sentence.

    `carries` is `True` if the model has `initial_state="carry"`, and `scores` is `True` if the
    export has the signature `score`.
    """
    starts = {
        "zero": 'from zeros (`initial_state="zero"`)',
        "warm": 'from the stored state after a fixed sentence (`initial_state="warm"`)',
    }[initial_state]
    sentences = [f"Each sentence starts {starts}."]
    if scores:
        sentences.append("Only `score` takes its states as inputs.")
    if carries:
        sentences.append(
            'The model itself has `initial_state="carry"`, but an export stores no states between '
            "requests."
        )
    if initial_state == "zero":
        sentences.append(
            "The original implementations carry the state from batch to batch, so their vectors "
            'differ; an export with `initial_state="warm"` is close to them.'
        )
    return " ".join(sentences)


def _spec(name, shape, dtype=tf.int32):
    return tf.TensorSpec(shape, dtype, name)
