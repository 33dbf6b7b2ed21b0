"""Catalogue of the public layers and models, with their options, inputs and outputs."""

import numpy as np

from tests.catalogue_entry import MASK, RNG, B, Entry, T, normal
from tests.catalogue_transformers import TRANSFORMERS
from tfreps import layers, models
from tfreps.text import WordCharIndexer, batch_to_ids


def char_cnn():
    return {
        "filters": [[1, 4], [3, 8]],
        "projection_dim": 4,
        "character_dim": 3,
        "num_highways": 2,
        "activation": "tanh",
        "max_characters": 20,
    }


def lstm():
    return {
        "units": 6,
        "projection_dim": 4,
        "num_layers": 1,
        "cell_clip": 0.5,
        "projection_clip": 0.4,
        "use_skip_connections": True,
        "dropout": 0.1,
    }


def bilm_options(**kwargs):
    return {**char_cnn(), **lstm(), "initial_state": "warm", "max_batch_size": 7, **kwargs}


def word_char_cnn():
    sizes = {"filters": [[1, 3], [2, 4]], "projection_dim": 4, "word_dim": 3, "character_dim": 2}
    ids = {"num_character_ids": INDEXER.num_character_ids, "max_characters": 9}
    more = {"vocabulary_size": INDEXER.vocabulary_size, "num_highways": 1, "activation": "tanh"}
    return {**sizes, **ids, **more}


def words_options(**kwargs):
    options = {**lstm(), "vocabulary_size": 11, "sentence_start_id": 3, "sentence_end_id": 4}
    return {**options, **kwargs}


def elmo_options():
    return {
        "bilm": models.BiLM(**bilm_options(initial_state="zero")),
        "num_output_representations": 2,
        "dropout": 0.2,
        "keep_sentence_boundaries": False,
        "fine_tune": True,
        "l2": 0.01,
    }


SENTENCES = [["The", "dog", "sat", "naïvely", "."], ["A", "b" * 30], []]
CHARACTERS = batch_to_ids(SENTENCES, max_characters=20)
INDEXER = WordCharIndexer(["T", "h", "e", "A", "."], ["The", "dog"], max_characters=9)
WORD_CHARACTERS = INDEXER(SENTENCES)
WORDS = np.where(MASK, RNG.integers(1, 12, [B, T]), 0).astype("int32")
BATCH = {
    **{f"token_ids{r}": RNG.integers(0, 11, [B, T]).astype("int32") for r in ("", "_reverse")},
    **{f"next_token_id{r}": RNG.integers(0, 11, [B, T]).astype("int32") for r in ("", "_reverse")},
    **{f"mask{r}": MASK for r in ("", "_reverse")},
}
FEATURES = {"token_ids": WORDS, "character_ids": CHARACTERS, "vectors": normal(B, 2, T, 4)}
FEATURES_AXES = {"token_ids": "BT", "character_ids": "BTC", "vectors": "BLTD"}


def embedder_options(**kwargs):
    options = {
        "vocabulary_size": 11,
        "embedding_dim": 4,
        "trainable_embeddings": True,
        "characters": "cnn",
        "character_filters": [[1, 3], [2, 4]],
        "character_projection_dim": 5,
        "character_dim": 3,
        "num_highways": 1,
        "character_activation": "tanh",
        "max_characters": 20,
        "elmo": models.Elmo(**{**elmo_options(), "num_output_representations": 1}),
        "vector_layers": 2,
        "vector_dim": 4,
        "dropout": 0.1,
    }
    return {**options, **kwargs}


def words_embedder():
    return models.TokenEmbedder(vocabulary_size=11, embedding_dim=4)


STATES = ["BLU", "BLU"]
# In order of tf.nest.flatten: backward_cell, backward_hidden, forward_cell, forward_hidden,
# layer_outputs, layer_outputs_with_boundaries, mask, mask_with_boundaries, sequence_output.
BILM = [*STATES, *STATES, "BLTD", "BLSD", "BT", "BS", "BTD"]

CATALOGUE = {
    "Highway": Entry(
        layers.Highway, lambda: {"gate_bias": -1.0}, {"x": (normal(B, T, 6), "BTD")}, ["BTD"]
    ),
    "CharCNNEncoder": Entry(
        layers.CharCNNEncoder, char_cnn, {"character_ids": (CHARACTERS, "BTC")}, ["BTD"]
    ),
    "WordCharCNNEncoder": Entry(
        layers.WordCharCNNEncoder, word_char_cnn, {"ids": (WORD_CHARACTERS, "BTC")}, ["BTD"]
    ),
    "ElmoLSTM": Entry(
        layers.ElmoLSTM,
        lambda: {**lstm(), "seed": 4},
        {"inputs": (normal(B, T, 4), "BTD"), "mask": (MASK, "BT")},
        ["BLTD", *STATES],
    ),
    "ElmoBiLSTM": Entry(
        layers.ElmoBiLSTM,
        lambda: {**lstm(), "bidirectional": True},
        {"inputs": (normal(B, T, 4), "BTD"), "mask": (MASK, "BT")},
        ["BLTD", *STATES, *STATES],
    ),
    "ScalarMix": Entry(
        layers.ScalarMix,
        lambda: {"initial_weights": [0.1, -0.2, 0.3], "l2": 0.1, "layer_norm_epsilon": 1e-6},
        {"layer_outputs": (normal(B, 3, T, 4), "BLTD"), "mask": (MASK, "BT")},
        ["BTD"],
    ),
    "Pooling": Entry(
        layers.Pooling,
        lambda: {"pooling": "attention", "attention_units": 6},
        {"sequence": (normal(B, T, 4), "BTD"), "mask": (MASK, "BT")},
        ["BD"],
    ),
    "BiLSTM": Entry(
        layers.BiLSTM,
        lambda: {"units": 6},
        {"inputs": (normal(B, T, 4), "BTD"), "mask": (MASK, "BT")},
        ["BTD", "BD"],
    ),
    "BiGRU": Entry(
        layers.BiGRU,
        lambda: {"units": 6},
        {"inputs": (normal(B, T, 4), "BTD"), "mask": (MASK, "BT")},
        ["BTD", "BD"],
    ),
    "CharLSTMEncoder": Entry(
        layers.CharLSTMEncoder,
        lambda: {"units": 3, "character_dim": 4, "max_characters": 20},
        {"character_ids": (CHARACTERS, "BTC")},
        ["BTD"],
    ),
    "SLSTM": Entry(
        layers.SLSTM,
        lambda: {
            "units": 4,
            "num_steps": 3,
            "window": 2,
            "num_sentence_nodes": 2,
            "neighbors": "nearest_cells",
            "input_term": "embedding",
            "sentence_normalization": "words",
            "initial_state": "learned_separately",
            "boundary": "fixed",
            "state_dropout": 0.1,
            "l2": 0.1,
            "seed": 4,
        },
        {"inputs": (normal(B, T, 4), "BTD"), "mask": (MASK, "BT")},
        ["BTD", "BLD"],
    ),
    "SLSTM, as in the paper": Entry(
        layers.SLSTM,
        lambda: {"units": 4},
        {"inputs": (normal(B, T, 3), "BTD"), "mask": (MASK, "BT")},
        ["BTD", "BLD"],
    ),
    "SLSTMCell": Entry(
        layers.SLSTMCell,
        lambda: {"units": 4, "window": 2, "neighbors": "summed", "num_sentence_nodes": 2},
        {
            "inputs": (normal(B, T, 3), "BTD"),
            "hidden": (normal(B, T, 4), "BTD"),
            "cell": (normal(B, T, 4), "BTD"),
            "sentence_hidden": (normal(B, 2, 4), "BLD"),
            "sentence_cell": (normal(B, 2, 4), "BLD"),
            "mask": (MASK, "BT"),
        },
        ["BTD", "BTD", "BLD", "BLD"],
    ),
    "SampledSoftmax": Entry(
        layers.SampledSoftmax,
        lambda: {"vocabulary_size": 11, "num_sampled": 6, "seed": 2, "tie_embeddings": False},
        {
            "features": (normal(2, B, 4), "GBD"),
            "targets": (RNG.integers(0, 11, [2, B]).astype("int32"), "GB"),
        },
        ["GB"],
    ),
    "CRF": Entry(
        layers.CRF,
        lambda: {
            "num_tags": 4,
            "allowed_transitions": (1 - np.eye(6, k=1)).astype(bool).tolist(),
            "constrain": "decode",
            "transition_learning_rate_factor": 10.0,
            "transition_initializer": "random_normal",
            "score_regularizer": "l2",
        },
        {"emissions": (normal(B, T, 4), "BTK"), "mask": (MASK, "BT")},
        ["BT", "B"],
    ),
    "BiLM": Entry(models.BiLM, bilm_options, {"ids": (CHARACTERS, "BTC")}, BILM),
    "BiLM, tokens": Entry(models.BiLM, words_options, {"ids": (WORDS, "BT")}, BILM),
    "ManyLangsBiLM": Entry(
        models.ManyLangsBiLM,
        lambda: {
            **word_char_cnn(),
            **{
                "units": 6,
                "num_layers": 2,
                "cell_clip": 1.0,
                "projection_clip": 0.5,
                "dropout": 0.1,
                "initial_state": "warm",
                "max_batch_size": 7,
            },
        },
        {"ids": (WORD_CHARACTERS, "BTC")},
        BILM,
    ),
    "BiLMPretrainer": Entry(
        models.BiLMPretrainer,
        lambda: {
            "bilm": models.BiLM(**words_options(dropout=0.1)),
            "vocabulary_size": 11,
            "num_sampled": 6,
            "batch_size": B,
            "clip_norm": 5.0,
            "tie_embeddings": False,
            "seed": 3,
        },
        {"batch": (BATCH, "BT")},
        ["GBT", None, None, None, None],
        nested=("bilm",),
    ),
    "Elmo": Entry(
        models.Elmo,
        elmo_options,
        {"ids": (CHARACTERS, "BTC")},
        # elmo_representations, layer_outputs, mask, sequence_output
        ["BTD", "BTD", "BLTD", "BT", "BTD"],
        nested=("bilm",),
    ),
    "Elmo, on a ManyLangsBiLM": Entry(
        models.Elmo,
        lambda: {
            **elmo_options(),
            "bilm": models.ManyLangsBiLM(**word_char_cnn(), units=6, num_layers=1),
        },
        {"ids": (WORD_CHARACTERS, "BTC")},
        ["BTD", "BTD", "BLTD", "BT", "BTD"],
        nested=("bilm",),
    ),
    "TokenEmbedder": Entry(
        models.TokenEmbedder,
        embedder_options,
        {"features": (FEATURES, FEATURES_AXES)},
        ["BT", "BTD"],  # mask, sequence_output
        nested=("elmo",),
    ),
    "TokenEmbedder, BiLSTM": Entry(
        models.TokenEmbedder,
        lambda: embedder_options(
            characters="bilstm", character_units=3, num_frozen_words=4, elmo=None
        ),
        {"features": (FEATURES, FEATURES_AXES)},
        ["BT", "BTD"],
        nested=("elmo",),
    ),
    "BiLSTMEncoder": Entry(
        models.BiLSTMEncoder,
        lambda: {"embedder": words_embedder(), "units": 5, "num_layers": 2, "dropout": 0.1},
        {"features": ({"token_ids": WORDS}, "BT")},
        ["BLTD", "BT", "BD", "BTD"],  # layer_outputs, mask, pooled_output, sequence_output
        nested=("embedder",),
    ),
    "BiGRUEncoder": Entry(
        models.BiGRUEncoder,
        lambda: {"embedder": words_embedder(), "units": 5, "num_layers": 2, "dropout": 0.1},
        {"features": ({"token_ids": WORDS}, "BT")},
        ["BLTD", "BT", "BD", "BTD"],  # layer_outputs, mask, pooled_output, sequence_output
        nested=("embedder",),
    ),
    "SLSTMEncoder": Entry(
        models.SLSTMEncoder,
        lambda: {
            "embedder": words_embedder(),
            "units": 5,
            "num_steps": 3,
            "window": 2,
            "num_sentence_nodes": 2,
            "neighbors": "summed",
            "input_term": "embedding",
            "sentence_normalization": "words",
            "initial_state": "embedding",
            "boundary": "zeros",
            "state_dropout": 0.1,
            "dropout": 0.1,
            "l2": 0.1,
        },
        {"features": ({"token_ids": WORDS}, "BT")},
        ["BT", "BD", "BTD"],  # mask, pooled_output, sequence_output
        nested=("embedder",),
    ),
    "TextCNN": Entry(
        models.TextCNN,
        lambda: {"embedder": words_embedder(), "num_filters": 6, "widths": [2, 3], "dropout": 0.1},
        {"features": ({"token_ids": WORDS}, "BT")},
        ["BT", "BD", "BTD"],  # mask, pooled_output, sequence_output
        nested=("embedder",),
    ),
    "LinearEncoder": Entry(
        models.LinearEncoder,
        lambda: {
            "vocabulary_size": 11,
            "units": 4,
            "unigram_offsets": [-1, 0, 1],
            "bigram_offsets": [-1, 0],
            "trigram_offsets": [-1],
            "num_buckets": 50,
        },
        {"features": ({"token_ids": WORDS}, "BT")},
        ["BT", "BTD"],
    ),
    "Tagger": Entry(
        models.Tagger,
        lambda: {
            "encoder": words_embedder(),
            "tags": ["O", "B-X", "I-X"],
            "scheme": "bio",
            "use_crf": False,
            "constrain": "decode",
            "dropout": 0.1,
            "transition_learning_rate_factor": 2.0,
            "crf_jit_compile": True,
            "linear": models.LinearEncoder(11, 3, num_buckets=50),
        },
        {"features": ({"token_ids": WORDS}, "BT")},
        ["BTD", "BT"],  # emissions, mask
        nested=("encoder", "linear"),
    ),
    "Classifier": Entry(
        models.Classifier,
        lambda: {
            "encoder": words_embedder(),
            "labels": ["bad", "good", "neither"],
            "pooling": "attention",
            "hidden_units": 5,
            "dropout": 0.1,
            "class_weights": [1.0, 2.0, 0.5],
            "attention_units": 3,
            "linear": models.LinearEncoder(11, 3, num_buckets=50),
        },
        {"features": ({"token_ids": WORDS}, "BT")},
        ["BD", "BD"],  # logits, probabilities
        nested=("encoder", "linear"),
    ),
    "SentenceEmbedder": Entry(
        models.SentenceEmbedder,
        lambda: {
            "encoder": words_embedder(),
            "pooling": ["mean_sqrt", "attention"],
            "dense": [
                {"units": 5, "activation": "tanh"},
                {"units": 3, "activation": "linear", "use_bias": False},
            ],
            "normalize": True,
            "scale": 10.0,
        },
        {"features": ({"token_ids": WORDS}, "BT")},
        ["BD"],
        nested=("encoder",),
    ),
    "Tagger, on an Elmo": Entry(
        models.Tagger,
        lambda: {
            "encoder": models.Elmo(models.BiLM(**bilm_options(initial_state="warm"))),
            "tags": ["O", "B-X", "I-X"],
            "scheme": "bio",
            "use_crf": False,  # a call returns emissions alone, without transitions
        },
        {"features": (CHARACTERS, "BTC")},
        ["BTD", "BT"],
        nested=("encoder",),
    ),
    "Classifier, on a BiLM": Entry(
        models.Classifier,
        lambda: {
            "encoder": models.BiLM(**words_options()),
            "labels": ["bad", "good"],
            "pooling": "mean_max",
            "linear": models.LinearEncoder(11, 2, num_buckets=50),
        },
        {"features": ({"token_ids": WORDS, "mask": MASK}, "BT")},
        ["BD", "BD"],
        nested=("encoder", "linear"),
    ),
    "HMMTagger": Entry(
        models.HMMTagger,
        lambda: {
            "vocabulary_size": 11,
            "tags": ["O", "B-X", "I-X"],
            "scheme": "bio",
            "unknown_id": 2,
            "unknown": "hapax",
            "use_end": True,
        },
        {"inputs": (WORDS, "BT")},
        ["BTD", "B", "BT"],  # emissions, log_likelihood, mask
    ),
    **TRANSFORMERS,
}
