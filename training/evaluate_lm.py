"""Measures the perplexity of a biLM on text, with the full softmax.

By default, each sentence starts from the model's initial state (zeros, or the warm state of the
biLM), so that the perplexity does not depend on the batch size. For comparison, --carry-state
starts each sentence from the state after the previous sentence in the same row of the batch, as
bilm-tf does.
"""

import math
import time

import numpy as np

from tfreps import data
from tfreps._src.cli.bilm_options import reading_options
from tfreps._src.cli.command import Command, Group
from tfreps._src.cli.options import Option
from tfreps._src.runs.run_folder import RunFolder

COMMAND = Command(
    "evaluate-lm",
    __doc__,
    {
        "model": Option(
            str, None, "Run folder of a biLM with a softmax, created by 'tfreps pretrain-elmo' or "
            "by 'tfreps convert --checkpoint'.", required=True, metavar="MODEL",
        )
    },
    [
        Group("evaluation", "Text, and how it is read.", {
            "text": Option(
                str, None, "Files with one tokenized sentence per line, or glob patterns.",
                many=True, required=True, metavar="FILE",
            ),
            "carry_state": Option(
                bool, False, "Start each sentence from the LSTM state after the previous sentence "
                "instead of the model's initial state.",
            ),
            "batch_size": Option(
                int, 32, "Number of rows in a batch. A row is one sentence or, with --carry-state, "
                "a stream of sentences.", at_least=1,
            ),
            "unroll_steps": Option(
                int, 20, "Number of tokens in each row of a batch with --carry-state.", at_least=1,
                needs="carry_state",
            ),
            "unigram_from": Option(
                str, None, "Text files or glob patterns from which to estimate a unigram model, "
                "whose perplexity on --text is printed for comparison.", many=True, metavar="FILE",
            ),
        }),
    ],
    (
        "tfreps evaluate-lm runs/elmo --text test.txt",
        "tfreps evaluate-lm runs/elmo --text test.txt --carry-state --batch-size 32",
        "tfreps evaluate-lm runs/elmo --text test.txt --unigram-from train.txt",
    ),
)  # fmt: skip


def main(argv=None):
    return COMMAND.run(evaluate, argv)


def evaluate(options):
    from tfreps._src.inference.model_loading import load_as
    from tfreps._src.inference.text_bilm import TextBiLM
    from tfreps._src.presets.sources import local_copy
    from tfreps.models import BiLMPretrainer

    with local_copy(options.model) as path:
        run, trained = RunFolder.open(path), load_as(TextBiLM, path)
    model, vocabulary = trained.model, trained.vocabulary
    if not isinstance(model, BiLMPretrainer):
        remedy = f" Train a softmax with tfreps pretrain-elmo --init {run.path}."
        raise ValueError(
            f"MODEL must have a softmax to predict tokens; {run.path} contains a "
            f"{type(model).__name__}, which has "
            f"none.{remedy if trained.word_characters is None else ''}"
        )
    if vocabulary is None:
        raise ValueError(
            f"{run.path} does not contain vocabulary.txt, which is needed to read --text. Restore "
            "the file."
        )
    run.results()  # a damaged results.json is reported before the evaluation
    counts = data.count_corpus(options.text, vocabulary, skip_blank=True)
    unigrams = None
    if options.unigram_from:
        unigrams = data.count_corpus(options.unigram_from, vocabulary, skip_blank=True)

    begin, full_totals = time.monotonic(), None
    if options.carry_state:
        totals, full_totals = carried_totals(model, vocabulary, options)
    else:
        totals = sentence_totals(model, vocabulary, options)
    results = {
        "text": options.text,
        "carry_state": options.carry_state,
        **perplexities(totals),
        "predicted_tokens_per_direction": counts.positions,
        "tokens": counts.tokens,
        "unknown_tokens": counts.unknown_tokens,
        "sentences": counts.sentences,
        "seconds": round(time.monotonic() - begin, 2),
    }
    if options.carry_state:
        results["batch_size"] = options.batch_size
    if full_totals is not None:
        results["full_batches"] = {
            **perplexities(full_totals),
            "predicted_tokens_per_direction": int(full_totals[1].max()),
        }
    if unigrams:
        results["unigram_perplexity"] = unigram_perplexity(vocabulary, unigrams, counts)
    say(results)
    print(run.add_evaluation(COMMAND.name, results))


def sentence_totals(model, vocabulary, options):
    """Computes the total negative log-likelihood (NLL) and the number of tokens per direction.

    Returns:
        float64 NumPy array, shape `[2, G]`, where G is the number of directions. The first row
        contains the NLL, and the second row the number of tokens.
    """
    import tensorflow as tf

    how = reading_options(model.bilm)
    batches = data.sentence_batches(options.text, vocabulary, options.batch_size, **how)

    @tf.function(input_signature=[batches.element_spec], autograph=False)
    def measure(batch):
        return totals_of(model, batch, model(batch)[0])

    return sum(measure(batch).numpy() for batch in batches)


def carried_totals(model, vocabulary, options):
    """Computes the totals of `sentence_totals`, with the state carried between sentences.

    Returns:
        Tuple `(totals, full_totals)` of two arrays in the format of `sentence_totals`. `totals`
        covers all tokens. `full_totals` covers the batches before the first incomplete batch, as in
        bilm-tf (with `--unroll-steps 1`, exactly as in its `run_test.py`), or is `None` if there
        are no such batches.
    """
    import tensorflow as tf

    batches = data.LMBatches(
        options.text,
        vocabulary,
        options.batch_size,
        options.unroll_steps,
        **reading_options(model.bilm),
        passes=1,
        skip_blank=True,
    )
    dataset, state = batches.dataset(), model._fixed_state(options.batch_size)
    state_spec = tf.nest.map_structure(tf.TensorSpec.from_tensor, state)

    @tf.function(input_signature=[dataset.element_spec, state_spec], autograph=False)
    def measure(batch, state):
        nll, state = model(batch, initial_state=state)
        return totals_of(model, batch, nll), state

    full = options.batch_size * options.unroll_steps
    totals, full_totals, is_full = 0.0, 0.0, True
    for batch in dataset:
        some, state = measure(batch, state)
        totals = totals + some.numpy()
        is_full = is_full and bool((some[1] == full).numpy().all())
        if is_full:
            full_totals = full_totals + some.numpy()
    return totals, full_totals if np.ndim(full_totals) else None


def totals_of(model, batch, nll):
    import tensorflow as tf

    names = ["mask", "mask_reverse"] if model.bilm.bidirectional else ["mask"]
    mask = tf.cast(tf.stack([batch[name] for name in names]), "float64")  # [G, B, T]
    nll = tf.where(mask > 0, tf.cast(nll, "float64"), 0.0)
    return tf.stack([tf.reduce_sum(nll, [1, 2]), tf.reduce_sum(mask, [1, 2])])


def perplexities(totals):
    """Returns a dict of the perplexities, exp(NLL / tokens), and their geometric mean.

    `totals` is the result of `sentence_totals`. There is one perplexity for each direction.
    """
    means = totals[0] / totals[1]
    names = ["forward_perplexity", "backward_perplexity"][: len(means)]
    each = {name: math.exp(mean) for name, mean in zip(names, means, strict=True)}
    return {**each, "perplexity": math.exp(np.mean(means))}


def unigram_perplexity(vocabulary, train, counts):
    """Returns the perplexity of a unigram model with add-one smoothing on a text.

    `train` and `counts` are the `CorpusCounts` of the training text and of the evaluated text. The
    model also predicts the end of each sentence.
    """
    smoothed = _with_ends(vocabulary, train).astype(np.float64) + 1.0
    log_probabilities = np.log(smoothed / smoothed.sum())
    seen = _with_ends(vocabulary, counts)
    return math.exp(-(seen * log_probabilities).sum() / seen.sum())


def _with_ends(vocabulary, counts):
    """Returns how often each token id is predicted, int `[V]`, including `<UNK>` and `</S>`."""
    seen = counts.token_counts.copy()
    seen[vocabulary.unknown_id] += counts.unknown_tokens
    seen[vocabulary.end_id] += counts.sentences
    seen[vocabulary.start_id] = 0
    return seen


def say(results):
    share = results["unknown_tokens"] / results["tokens"]
    how = "each sentence starts from the fixed state"
    if results["carry_state"]:
        how = f"state carried from sentence to sentence in {results['batch_size']} rows"
    print(
        f"{results['sentences']:,} sentences, {results['tokens']:,} tokens, {share:.2%} outside "
        f"the vocabulary; {results['predicted_tokens_per_direction']:,} predictions per direction."
    )
    for name in ("forward_perplexity", "backward_perplexity", "perplexity"):
        if name in results:
            print(f"{name.replace('_', ' '):20} {results[name]:10.3f}")
    if "full_batches" in results:
        counted = results["full_batches"]
        print(
            f"{'full batches only':20} {counted['perplexity']:10.3f}  (as in bilm-tf: "
            f"{counted['predicted_tokens_per_direction']:,} predictions, without the last batches)"
        )
    if "unigram_perplexity" in results:
        print(f"{'unigram perplexity':20} {results['unigram_perplexity']:10.3f}")
    print(f"Full softmax; {how}.")
