"""Prints the nearest neighbors of a word in several contexts, by the vectors of a biLM.

The command embeds sentences and selects a word (by default, one that occurs in varied contexts).
For the most different occurrences of the word, it prints the nearest tokens of other sentences.
Tokens are ranked by the cosine of their top-layer vectors, after the mean of all vectors is
subtracted. To find the texts that are most similar to a text, use tfreps search.
"""

import collections
import difflib
import itertools

import numpy as np

from tfreps._src.cli import bilm_options
from tfreps._src.cli.command import Command, Group
from tfreps._src.cli.options import Option
from tfreps._src.data.text_files import stream_lines

SHOWN = 3  # number of occurrences of the word whose neighbors are printed
AROUND = 5  # number of words printed on each side
LONGEST = 200  # maximum number of tokens; longer sentences are skipped
OFTEN = 10  # minimum number of occurrences of a word that the command chooses
COMMON = 0.004  # maximum share of this word among all tokens, which excludes articles and commas
COMMAND = Command(
    "neighbors",
    __doc__,
    {
        "model": bilm_options.MODEL._replace(
            about="BiLM that computes the vectors: a run folder or a published model, given by "
            "path, name (see 'tfreps presets') or hf:// address.",
        )
    },
    [
        Group("model", "Published biLM, instead of MODEL.", bilm_options.OPTIONS),
        Group("text", "Sentences to embed, and the word to look up.", {
            "text": Option(
                str, None, "UTF-8 text file with one tokenized sentence per line.",
                required=True, metavar="FILE",
            ),
            "word": Option(
                str, None, "Word of --text to look up. Defaults to a word that occurs in varied "
                "contexts.", metavar="TEXT",
            ),
            "count": Option(int, 5, "Number of neighbors to print.", at_least=1),
            "max_sentences": Option(
                int, 2000, "Maximum number of sentences to read.", at_least=2,
            ),
        }),
    ],
    (
        "tfreps neighbors runs/elmo --text test.txt --word left --count 3",
        "tfreps neighbors elmo_original --text test.txt --max-sentences 500",
        "tfreps neighbors --elmo-config options.json --elmo-weights weights.hdf5 --text test.txt",
    ),
    flags=bilm_options.FLAGS,
)  # fmt: skip


def main(argv=None):
    return COMMAND.run(find_neighbors, argv)


def find_neighbors(options):
    path, how = bilm_options.chosen_model(options)

    from tfreps import load
    from tfreps._src.inference.text_bilm import TextBiLM

    found = load(path, **how)
    if not isinstance(found, TextBiLM):
        kind = f"{found.kind} ({type(found.model).__name__})"
        raise ValueError(
            f"MODEL must be a biLM; {found.source} is {kind}. To find similar texts with a text "
            "embedder, use tfreps search."
        )
    sentences = read_sentences(options.text, options.max_sentences)
    words = [word for sentence in sentences for word in sentence]
    positions = [(number, i) for number, s in enumerate(sentences) for i in range(len(s))]
    if options.word is not None and options.word not in words:
        raise ValueError(missing(options.word, words, options))
    vectors = embed(found, sentences)  # [N, 2P], scaled to length 1
    word = options.word or varied_word(words, vectors)
    occurrences = np.flatnonzero(np.array(words, object) == word)
    chosen = most_different(vectors[occurrences], SHOWN)
    print(
        f"{len(sentences):,} sentences, {len(words):,} tokens; {word!r} occurs "
        f"{len(occurrences)} times. Cosines of the top-layer vectors minus their mean:\n"
    )
    for number, token in enumerate(occurrences[chosen], 1):
        print(f"({number}) {in_context(sentences, positions[token])}")
        for other, cosine in nearest(vectors, token, positions, sentences, options.count):
            print(f"      {cosine:5.2f}  {in_context(sentences, positions[other])}")
        print()
    say_differences(word, vectors[occurrences[chosen]])


def read_sentences(path, limit):
    """Returns the distinct sentences of a file, each as a list of tokens.

    Only the first `limit` sentences of 1 to `LONGEST` tokens are read.
    """
    sentences = (tuple(line.split()) for line in stream_lines(path))
    fitting = (sentence for sentence in sentences if 0 < len(sentence) <= LONGEST)
    distinct = list(dict.fromkeys(itertools.islice(fitting, limit)))
    if len(distinct) < 2:
        raise ValueError(
            f"--text must contain at least two distinct sentences among its first {limit:,} "
            f"sentences of 1 to {LONGEST} tokens (--max-sentences); {path} has {len(distinct)}."
        )
    return [list(sentence) for sentence in distinct]


def missing(word, words, options):
    close = difflib.get_close_matches(word, set(words), n=3)
    hint = f"Similar words are {', '.join(close)}." if close else "Omit --word to have one chosen."
    return f"--word: {word!r} does not occur in the first {options.max_sentences} sentences. {hint}"


def embed(found, sentences):
    """Returns the vectors of all tokens for comparison by cosines, float array `[N, D]`.

    A vector is the output of the top layer, minus the mean over all tokens, scaled to length 1.
    """
    vectors = np.concatenate(found.encode(sentences, layers="top"))
    vectors -= vectors.mean(axis=0)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def varied_word(words, vectors):
    """Returns a word whose occurrences have the least similar vectors.

    Rare and very common words are not considered if there are others.
    """
    counts = collections.Counter(word for word in words if word.isalpha() and len(word) > 2)
    most = max(COMMON * len(words), OFTEN)
    candidates = {word for word, count in counts.items() if OFTEN <= count <= most}
    candidates = candidates or {word for word, _ in counts.most_common(20)} or set(words)
    tokens = collections.defaultdict(list)
    for token, word in enumerate(words):
        if word in candidates:
            tokens[word].append(token)
    alike = {word: mean_cosine(vectors[some]) for word, some in tokens.items()}
    return min(sorted(alike), key=alike.get)


def mean_cosine(vectors):
    """Returns the mean cosine of all pairs of unit vectors `[n, D]`; 1 for a single vector."""
    n = len(vectors)
    if n == 1:
        return 1.0
    return (np.square(vectors.sum(axis=0)).sum() - n) / (n * (n - 1))


def most_different(vectors, count):
    """Returns the indices of up to `count` dissimilar unit vectors, in ascending order.

    The two least similar vectors are chosen first. Each next vector is the one whose most similar
    chosen vector is the least similar to it.
    """
    cosines = vectors @ vectors.T  # [n, n]
    chosen = list(np.unravel_index(cosines.argmin(), cosines.shape)) if len(vectors) > 1 else [0]
    while len(chosen) < min(count, len(vectors)):
        closest = cosines[:, chosen].max(axis=1)
        closest[chosen] = np.inf
        chosen.append(closest.argmin())
    return sorted(map(int, chosen))


def nearest(vectors, token, positions, sentences, count):
    """Yields `(index, cosine)` for the `count` nearest tokens of a token, nearest first.

    Tokens of the same sentence and repeated contexts are skipped.
    """
    cosines = vectors @ vectors[token]  # [N]
    shown = {in_context(sentences, positions[token])}
    for other in np.argsort(-cosines, kind="stable").tolist():
        context = in_context(sentences, positions[other])
        if positions[other][0] != positions[token][0] and context not in shown:
            shown.add(context)
            yield other, cosines[other]
            if len(shown) > count:
                return


def in_context(sentences, place):
    """Returns a token in brackets, with up to 5 words of context on each side, as a str.

    `place` is a tuple of two ints: the index of the sentence in `sentences`, and the index of the
    token in the sentence.
    """
    number, i = place
    words = sentences[number]
    before, after = words[max(0, i - AROUND) : i], words[i + 1 : i + 1 + AROUND]
    dots = ["..."] if i > AROUND else [], ["..."] if len(words) > i + 1 + AROUND else []
    return " ".join([*dots[0], *before, f"[{words[i]}]", *after, *dots[1]])


def say_differences(word, vectors):
    if len(vectors) == 1:
        print(f"{word!r} occurs once. To compare contexts, choose a word that occurs more often.")
        return
    pairs = itertools.combinations(range(len(vectors)), 2)
    cosines = [f"({a + 1}) and ({b + 1}): {vectors[a] @ vectors[b]:.2f}" for a, b in pairs]
    print(f"Cosines between the vectors of {word!r}: {', '.join(cosines)}.")
    print("With static word vectors, they would be 1.00.")
