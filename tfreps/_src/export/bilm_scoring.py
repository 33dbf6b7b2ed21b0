"""Scoring: signatures of an exported language model that score text."""

import tensorflow as tf

from tfreps._src.layers.elmo_bilstm import LSTMState, flatten_states, reverse_tokens

MOST_SENTENCES = 4096  # maximum batch size of the signature `initial_states`


class Scoring:
    """Signatures `initial_states` and `score` of an exported `BiLMPretrainer`.

        initial_states  batch_size int32 [], from 0 to 4,096 -> the initial states (zeros, or the
                        states stored by `BiLM.warm_up`)
        score           tokens str [N, T], sequence_len int32 [N], forward_hidden [N, L, P],
                        forward_cell [N, L, U], backward_hidden, backward_cell -> nll,
                        forward_nll, backward_nll float32 [N], sums in nats; token_count int32
                        [N], the number of predictions per direction: one for each token of the
                        sentence and one for its end (backward: its start); and the new states,
                        under the names of the inputs

    `nll` is the sum of both directions. The perplexity of both directions, computed with the full
    softmax over all tokens, is `exp(sum(nll) / (2 * sum(token_count)))`. The model stores nothing
    between calls: the caller passes the states of one call to the next. A model that is not
    bidirectional has no backward inputs or outputs; its `nll` is `forward_nll`, and its perplexity
    is `exp(sum(nll) / sum(token_count))`. `reader` is a `TokenReader` with a vocabulary.
    """

    def __init__(self, bilm, pretrainer, reader):
        self.bilm = bilm
        self.pretrainer = pretrainer
        self.reader = reader

    def initial_states(self, batch_size):
        """Implements the signature `initial_states`: returns the states before the first token."""
        fits = (batch_size >= 0) & (batch_size <= MOST_SENTENCES)
        message = f"`batch_size` must be from 0 to {MOST_SENTENCES}; got"
        tf.debugging.Assert(fits, [message, batch_size])
        states = flatten_states(self.bilm._fixed_state(batch_size))
        return dict(zip(self.bilm._state_names, states, strict=True))

    def score(self, tokens, sequence_len, **states):
        """Implements the signature `score`: returns the losses of the tokens and the new states."""
        bilm = self.bilm
        ids = self.reader.to_ids(tokens, sequence_len)
        ids, known = bilm._with_boundaries(ids, sequence_len)  # [N, T+2, ...], [N, T+2]
        targets = self.reader.targets(tokens, sequence_len)  # [N, T+2]
        vectors, which = bilm._encode_distinct(ids)  # [D, P], [N, T+2]
        mask = known[:, 1:]  # the last token of each direction is only predicted, not read
        outputs = {"token_count": sequence_len + 1}
        for name, lstm in zip(("forward", "backward"), bilm.bilstm.directions, strict=False):
            if name == "backward":
                which, targets = reverse_tokens(which, known), reverse_tokens(targets, known)
            state = LSTMState(states[f"{name}_hidden"], states[f"{name}_cell"])
            read = which[:, :-1]
            layers, state = lstm(
                tf.gather(vectors, read), mask=mask, initial_state=state, distinct=(vectors, read)
            )
            nll = self._nll(layers[:, -1], targets[:, 1:])  # [N, T+1]
            outputs[f"{name}_nll"] = tf.reduce_sum(tf.where(mask, nll, 0.0), axis=1)
            outputs[f"{name}_hidden"], outputs[f"{name}_cell"] = state
        outputs["nll"] = outputs["forward_nll"] + outputs.get("backward_nll", 0.0)
        return outputs

    def surprise(self, outputs, tokens, sequence_len):
        """Computes the negative log-probability of each token, given the outputs of the biLM.

        Returns:
            dict of tensors. The surprise is float32, in nats, and 0 on padding:

            - `forward_surprise` `[N, T]`: -log p(token | all tokens before it).
            - `backward_surprise` `[N, T]`: -log p(token | all tokens after it).
            - `end_surprise` `[N]`: -log p(end of the sentence | all tokens).
            - `start_surprise` `[N]`: -log p(start of the sentence | all tokens).
            - `in_vocabulary`, int32 `[N, T]`: 1 for a token that is in the vocabulary, and 0 for a
              token that is read as `<UNK>` and for padding.

            A model that is not bidirectional has no `backward_surprise` and no `start_surprise`. If
            `score` starts from the initial states, `forward_nll` is the sum of `forward_surprise`
            and `end_surprise`, and `backward_nll` is the sum of `backward_surprise` and
            `start_surprise`.
        """
        dim = self.bilm.projection_dim
        inside = tf.sequence_mask(sequence_len, tf.shape(tokens)[1])
        top = outputs["layer_outputs_with_boundaries"][:, -1]  # [N, T+2, 2P]
        targets = self.reader.targets(tokens, sequence_len)  # [N, T+2]
        nll = self._nll(top[:, :-1, :dim], targets[:, 1:])  # [N, T+1]
        known = self.reader.lookup(tokens) != self.reader.vocabulary.unknown_id
        scores = {
            "in_vocabulary": tf.cast(known & inside, tf.int32),
            "forward_surprise": tf.where(inside, nll[:, :-1], 0.0),
            "end_surprise": tf.gather(nll, sequence_len, batch_dims=1),
        }
        if self.bilm.bidirectional:
            nll = self._nll(top[:, 1:, dim:], targets[:, :-1])
            scores["backward_surprise"] = tf.where(inside, nll[:, 1:], 0.0)
            scores["start_surprise"] = nll[:, 0]
        return scores

    def _nll(self, features, targets):
        """Returns the negative log-probability of each target in nats, float32 `[N, T]`.

        The softmax predicts `targets`, `[N, T]`, from `features`, `[N, T, P]`, the outputs of the
        last layer of one direction.
        """
        shape = tf.shape(targets)
        features = tf.reshape(features, [1, -1, self.bilm.projection_dim])
        kernel = self.bilm.token_encoder.embeddings[1:] if self.pretrainer.tie_embeddings else None
        nll = self.pretrainer.softmax(features, tf.reshape(targets, [1, -1]), kernel=kernel)
        return tf.reshape(nll, shape)
