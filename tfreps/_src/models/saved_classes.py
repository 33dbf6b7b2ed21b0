"""Imports every class that a saved model may name, which registers the class with Keras."""

from tfreps._src.layers import (  # noqa: F401
    attention,
    bilstm,
    char_cnn,
    char_lstm,
    crf,
    elmo_bilstm,
    highway,
    pooling,
    position_embedding,
    sampled_softmax,
    scalar_mix,
    segment_embedding,
    slstm,
    slstm_cell,
    transformer,
    word_char_cnn,
)
from tfreps._src.metrics import (  # noqa: F401
    auc,
    perplexity,
    sentence_loss,
    span_f1,
    token_accuracy,
    weighted_token_f1,
)
from tfreps._src.models import (  # noqa: F401
    bert,
    bert_pretrainer,
    bilm,
    bilm_pretrainer,
    bilstm_encoder,
    classifier,
    elmo,
    hmm,
    linear_encoder,
    many_langs,
    piece_encoder,
    sentence_embedder,
    slstm_encoder,
    tagger,
    text_cnn,
    token_embedder,
    transformer_encoder,
)
from tfreps._src.optimizers import (  # noqa: F401
    fused_adam,
    grouped_optimizer,
    schedules,
    tf1_adagrad,
)
