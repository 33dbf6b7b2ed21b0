"""Compares the speed of HMMTagger with that of the NumPy loops of aespresso.

    python -m benchmarks.hmm ../shared/data/resume_ner/train.char.bmes
    python -m benchmarks.hmm

Without a file of tagged sentences, the program uses random sentences with lengths similar to those
of resume_ner. Fitting and decoding alternate with the loops in one process. "ratio" is the median
speed of HMMTagger divided by that of the loops, and "to reach" is its target. Both read ids, not
strings. The loops decode only the first sentences, about 15,000 tokens. At least 99.9% of their
tags must equal those of HMMTagger; paths of equal probability may differ.
"""

import json

import numpy as np

from benchmarks.in_turns import alternately
from benchmarks.rows import print_table, program_parser
from tfreps.data import read_tagged
from tfreps.models import HMMTagger
from tfreps.text import TagSet, Vocabulary

# name: target ratio to the loops
ROWS = {"fit": 1.0, "decode-xla": 20.0, "decode-graph": 1.0}
COUNTED = 15_000  # tokens that the loops decode
SAME = 0.999  # smallest share of equal tags; paths of equal probability may differ
RANDOM_TAGS, RANDOM_SIZE, RANDOM_SENTENCES = 28, 1795, 3821


def main(argv=None):
    parser = program_parser("benchmarks.hmm", __doc__, repeats=(7, "Number of timed calls."))
    about = "CoNLL file of tokens and tags. By default, random sentences are used."
    parser.add_argument("file", nargs="?", help=about)
    options = parser.parse_args(argv)
    tokens, tags, size, names = read(options.file) if options.file else random_text()
    model = HMMTagger(size, names)
    model.fit_counts(tokens, tags)
    results = [measure(name, model, tokens, tags, options.repeats) for name in ROWS]
    for result in results:
        print(json.dumps(result))
    print_table(
        "row | tokens/s | loops | ratio | to reach",
        [
            (r["row"], f"{r['tokens_per_second']:,}", f"{r['loops_tokens_per_second']:,}",
             f"{r['ratio']:.1f}", r["to_reach"])
            for r in results
        ],
    )  # fmt: skip
    return 0


def read(file):
    """Returns the token ids, the tag ids, the vocabulary size and the names of the tags."""
    sentences = read_tagged(file)
    tag_set = TagSet.from_sequences(sentence.tags for sentence in sentences)
    counts = {token: 1 for sentence in sentences for token in sentence.tokens}
    vocabulary = Vocabulary.from_counts(counts)
    tokens = [[i + 1 for i in vocabulary.ids(sentence.tokens)] for sentence in sentences]
    tags = [tag_set.ids(sentence.tags) for sentence in sentences]
    return tokens, tags, len(vocabulary), tag_set.names


def random_text():
    """Returns random data in the form of `read`, with lengths similar to those of resume_ner."""
    rng = np.random.default_rng(0)
    lengths = np.clip(rng.lognormal(3.2, 0.8, RANDOM_SENTENCES).astype(int), 2, 178)
    tags = [
        (rng.integers(RANDOM_TAGS) + np.cumsum(rng.random(n) < 0.3)) % RANDOM_TAGS for n in lengths
    ]
    spread = RANDOM_SIZE // 4
    tokens = [1 + (t * 61 + rng.integers(0, spread, len(t))) % RANDOM_SIZE for t in tags]
    names = [f"T{k}" for k in range(RANDOM_TAGS)]
    return [t.tolist() for t in tokens], [t.tolist() for t in tags], RANDOM_SIZE, names


def measure(name, model, tokens, tags, repeats):
    """Measures one row: our calls alternate with the loops; the first call of each is dropped."""
    total = sum(map(len, tokens))
    if name == "fit":
        some, num_tokens = tokens, total
        ours = lambda: model.fit_counts(tokens, tags)  # noqa: E731
        loops = lambda: fit_loops(tokens, tags, model.vocabulary_size, len(model.tags))  # noqa: E731
    else:
        last = int(np.searchsorted(np.cumsum([len(t) for t in tokens]), COUNTED)) + 1
        some = tokens[:last]
        num_tokens = sum(map(len, some))
        ours = lambda: model.decode_sentences(tokens, jit_compile=name == "decode-xla")  # noqa: E731
        tables = model.log_initial, model.log_transitions, model.log_emissions
        tables = [table.numpy() for table in tables]
        loops = lambda: [decode_loop(sentence, *tables) for sentence in some]  # noqa: E731
        same = np.mean(np.concatenate(ours()[:last]) == np.concatenate(loops()))
        if same < SAME:
            raise SystemExit(
                f"{name}: at least {SAME:.1%} of the tags must equal those of the loops; got "
                f"{same:.2%}."
            )
    times = alternately({"ours": ours, "loops": loops}, repeats)
    ours, loops = total / np.median(times["ours"]), num_tokens / np.median(times["loops"])
    return {
        "row": name,
        "tokens_per_second": round(ours),
        "loops_tokens_per_second": round(loops),
        "ratio": round(ours / loops, 2),
        "to_reach": ROWS[name],
    }


def fit_loops(sentences, tagged, vocabulary_size, num_tags):
    """Counts events one by one and returns log probabilities."""
    initial = np.zeros(num_tags)
    transitions = np.zeros([num_tags, num_tags])
    emissions = np.zeros([num_tags, vocabulary_size + 1])
    for tags in tagged:
        for place, tag in enumerate(tags[:-1]):
            if place == 0:
                initial[tag] += 1
            transitions[tag, tags[place + 1]] += 1
    for tokens, tags in zip(sentences, tagged, strict=True):
        for token, tag in zip(tokens, tags, strict=True):
            emissions[tag, token] += 1
    tables = []
    for table in (initial, transitions, emissions):
        table[table == 0] = 1e-8
        tables.append(np.log(table / table.sum(axis=-1, keepdims=True)))
    return tables


def decode_loop(sentence, initial, transitions, emissions):
    """Decodes one sentence with Viterbi, position by position."""
    length, num_tags = len(sentence), len(initial)
    if length == 0:
        return []
    by_tag = emissions.T  # [K, V + 1], as the counts are stored in aespresso
    scores, pointers = np.zeros([length, num_tags]), np.zeros([length, num_tags])
    scores[0] = initial + np.ravel(by_tag[:, sentence[0]])
    for place in range(1, length):
        emission = np.expand_dims(np.ravel(by_tag[:, sentence[place]]), axis=0)
        before = np.expand_dims(scores[place - 1], axis=-1)
        each = before + transitions + emission  # [from, to]
        scores[place] = np.max(each, axis=0)
        pointers[place] = np.argmax(each, axis=0)
    path = [int(np.argmax(scores[-1]))]
    for place in range(length - 1, 0, -1):
        path.append(int(pointers[place, path[-1]]))
    return path[::-1]


if __name__ == "__main__":
    raise SystemExit(main())
