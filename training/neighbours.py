"""Shows that a word's vector depends on its context: nearest neighbours of its occurrences.

    tfreps neighbours runs/elmo --text test.txt --word left
    tfreps neighbours runs/elmo --text test.txt

Embeds sentences, takes a word (or finds one that stands in varied contexts), and prints for its
most different occurrences the nearest tokens of other sentences, by the cosine of the top layer
less its mean.
"""

import argparse
import collections
import difflib
import itertools

import numpy as np

from tfreps.cli.bilm_options import add_bilm_flags, chosen_model, open_bilm
from tfreps.cli.options import Option, add_flags, parse_options
from tfreps.data import read_blocks

SHOWN = 3  # occurrences of the word
AROUND = 5  # words shown on either side
LONGEST = 200  # tokens; longer sentences are passed over
OFTEN = 10  # occurrences that a word found by the program has at least
NUMBERS = {
    "count": Option(int, 5, "neighbours of each occurrence (5)", at_least=1),
    "sentences": Option(int, 2000, "read at most so many (2000)", at_least=2),
}
COMMON = 0.004  # and at most this share of all tokens: no articles, no commas


def main(argv=None):
    options = parse_options(make_parser(), argv)
    path, how = chosen_model(options)
    sentences = read_sentences(options.text, options.sentences)
    words = [word for sentence in sentences for word in sentence]
    places = [(number, i) for number, s in enumerate(sentences) for i in range(len(s))]
    if options.word is not None and options.word not in words:
        raise ValueError(missing(options.word, words, options))
    found = open_bilm(path, how)
    vectors = embed(found, sentences)  # [N, 2P], of length 1

    word = options.word or varied_word(words, vectors)
    occurrences = np.flatnonzero(np.array(words, object) == word)
    chosen = most_different(vectors[occurrences], SHOWN)
    print(
        f"{len(sentences):,} sentences, {len(words):,} tokens; {word!r} occurs "
        f"{len(occurrences)} times. Cosines of the top layer, its mean taken away.\n"
    )
    for number, token in enumerate(occurrences[chosen], 1):
        print(f"({number}) {in_context(sentences, places[token])}")
        for other, cosine in nearest(vectors, token, places, sentences, options.count):
            print(f"      {cosine:5.2f}  {in_context(sentences, places[other])}")
        print()
    say_differences(word, vectors[occurrences[chosen]])
    return 0


def make_parser():
    parser = argparse.ArgumentParser(
        prog="tfreps neighbours", description="One word, several contexts, several vectors."
    )
    add = parser.add_argument
    add("model", metavar="MODEL", nargs="?", help="run folder of a biLM")
    add("--text", metavar="FILE", required=True, help="UTF-8, one tokenised sentence per line")
    add("--word", help="a word of that text (one that stands in varied contexts)")
    add_flags(parser, NUMBERS)
    add_bilm_flags(parser)
    return parser


def read_sentences(path, limit):
    """The first sentences, each once, as lists of tokens."""
    lines = (line for block in read_blocks(path) for line in block.text.split("\n"))
    sentences = (tuple(line.split()) for line in lines)
    fitting = (sentence for sentence in sentences if 0 < len(sentence) <= LONGEST)
    distinct = list(dict.fromkeys(itertools.islice(fitting, limit)))
    if len(distinct) < 2:
        raise ValueError(f"{path} has fewer than two sentences of 1 to {LONGEST} tokens.")
    return [list(sentence) for sentence in distinct]


def missing(word, words, options):
    close = difflib.get_close_matches(word, set(words), n=3)
    hint = f"Near it are {', '.join(close)}." if close else "Leave --word out to have one chosen."
    return f"{word!r} does not occur in the first {options.sentences} sentences. {hint}"


def embed(found, sentences):
    """Top-layer vectors of all tokens in order, mean taken away, of length 1."""
    vectors = np.concatenate(found.encode(sentences, layers="top"))
    vectors -= vectors.mean(axis=0)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def varied_word(words, vectors):
    """The word, neither rare nor common, whose occurrences are least alike."""
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
    """Mean cosine of all pairs of `vectors` `[n, D]`; 1 for a single one."""
    n = len(vectors)
    if n == 1:
        return 1.0
    return (np.square(vectors.sum(axis=0)).sum() - n) / (n * (n - 1))


def most_different(vectors, count):
    """Places of the `count` vectors that are least alike: the worst pair, then the farthest."""
    cosines = vectors @ vectors.T  # [n, n]
    chosen = list(np.unravel_index(cosines.argmin(), cosines.shape)) if len(vectors) > 1 else [0]
    while len(chosen) < min(count, len(vectors)):
        closest = cosines[:, chosen].max(axis=1)
        closest[chosen] = np.inf
        chosen.append(closest.argmin())
    return sorted(map(int, chosen))


def nearest(vectors, token, places, sentences, count):
    """`(token, cosine)` of the nearest tokens of other sentences, no context twice."""
    cosines = vectors @ vectors[token]  # [N]
    shown = {in_context(sentences, places[token])}
    for other in np.argsort(-cosines, kind="stable").tolist():
        context = in_context(sentences, places[other])
        if places[other][0] != places[token][0] and context not in shown:
            shown.add(context)
            yield other, cosines[other]
            if len(shown) > count:
                return


def in_context(sentences, place):
    """A few words on either side of a token, which is in brackets."""
    number, i = place
    words = sentences[number]
    before, after = words[max(0, i - AROUND) : i], words[i + 1 : i + 1 + AROUND]
    dots = ["..."] if i > AROUND else [], ["..."] if len(words) > i + 1 + AROUND else []
    return " ".join([*dots[0], *before, f"[{words[i]}]", *after, *dots[1]])


def say_differences(word, vectors):
    if len(vectors) == 1:
        print(f"{word!r} occurs once: nothing to compare it with. Choose a word that comes again.")
        return
    pairs = itertools.combinations(range(len(vectors)), 2)
    cosines = [f"({a + 1}) and ({b + 1}): {vectors[a] @ vectors[b]:.2f}" for a, b in pairs]
    print(f"{word!r} itself, one vector per context; cosine of {', '.join(cosines)}.")
    print("A table of word vectors would say 1.00.")
