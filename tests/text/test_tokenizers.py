"""Tokens of raw texts compared with Python's own functions."""

import re
import unicodedata

import hypothesis
import pytest
import tensorflow as tf
from hypothesis import strategies
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from tfreps._src.text.tokenizers import split_tokens
from tfreps.data import read_tagged
from tfreps.text import TOKENIZERS, CharacterTokenizer, WordPieceTokenizer, tokenize

WHITE_SPACE = "".join(c for c in map(chr, range(0x3001)) if c.isspace())  # U+3000 is the last


# Not white space: zero-width space, Mongolian vowel separator, BOM, NUL.
OTHERS = "ab.é中😀\u200b\u180e\ufeff\u2060\0\x1b\x84\x86"


def split(sentences):
    rows = split_tokens(tf.constant(sentences, tf.string)).numpy().tolist()
    return [[token.decode() for token in row if token] for row in rows]


@pytest.mark.slow
def test_splitting_every_character_there_is():
    characters = [c for c in map(chr, range(0x110000)) if not 0xD800 <= ord(c) < 0xE000]
    sentences = ["a" + c + "b" for c in characters]
    tokens = split_tokens(tf.constant(sentences))  # [N, 2]
    is_split = (tokens[:, 1] != "").numpy()
    found = "".join(c for c, two in zip(characters, is_split, strict=True) if two)
    assert found == WHITE_SPACE == "".join(c for c in characters if c.isspace())
    assert len(found) == 29


@hypothesis.settings(max_examples=20)
@hypothesis.given(
    strategies.lists(strategies.text(strategies.sampled_from(WHITE_SPACE + OTHERS)), min_size=5)
)
def test_equal_to_str_split(sentences):
    assert split(sentences) == [sentence.split() for sentence in sentences]


def test_padding_and_unknown_shapes():
    function = tf.function(split_tokens, [tf.TensorSpec([None], tf.string)])
    assert function(tf.constant(["a b", "", " \u3000"])).numpy().tolist() == [
        [b"a", b"b"],
        [b"", b""],
        [b"", b""],
    ]
    assert function(tf.constant([], tf.string)).shape == (0, 0)
    assert function(tf.constant([b"\xff\xfe a"])).numpy().tolist() == [[b"\xff\xfe", b"a"]]


# The graph uses Unicode 15.0, Python 3.10 an older version, and 3.13 a newer one.
NEW = range(0x2EBF0, 0x2EE5E)


CHARACTERS = [
    c
    for c in map(chr, range(0x110000))
    if not 0xD800 <= ord(c) < 0xE000 and unicodedata.category(c) != "Cn" and ord(c) not in NEW
]


# Characters of category Cf to which nothing attaches: a space of width 0, and signs of numbers.
STARTERS = (
    "\u200b\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)
SKIN_TONES = "🏻🏼🏽🏾🏿"
FLAG_LETTERS = [chr(code) for code in range(0x1F1E6, 0x1F200)]


def words(text):
    """Applies the rules to one character after the other."""
    found, is_apart = [], True
    for c in text:
        if c.isspace():
            is_apart = True
            continue
        if is_apart or not continues(found[-1], c):
            found.append("")
        found[-1] += c
        is_apart = False
    return found


def continues(token, c):
    if is_attached(c):
        return True
    own = [letter for letter in token if not is_attached(letter)]
    if not own or is_word(own[0]):
        return bool(own) and is_word(c)
    if own[0] in FLAG_LETTERS and c in FLAG_LETTERS:
        return len(own) == 1
    return token[-1] == "\u200d" and is_pictograph(c)


def is_word(c):
    return unicodedata.category(c)[0] in "LN" or c == "_"


def is_attached(c):
    is_format = unicodedata.category(c) == "Cf" and c not in STARTERS
    return is_format or unicodedata.category(c)[0] == "M" or c in SKIN_TONES


def is_pictograph(c):
    if c in "©®‼⁉™Ⓜ〰〽㊗㊙":
        return True
    blocks = (0x2190, 0x23FF), (0x25A0, 0x27BF), (0x2900, 0x297F), (0x2B00, 0x2BFF)
    blocks += (0x1F000, 0x1F1E5), (0x1F200, 0x1FAFF), (0x1FC00, 0x1FFFD)
    return any(first <= ord(c) <= last for first, last in blocks)


CLOSING = ")]}>\"'”’»"
ALONE = ';!?%…—()[]{}<>"“”«»‘£€¥'


def treebank(text):
    """Applies the rules one character, and then one chunk between spaces, at a time."""
    text = inner_periods(final_period(text))
    chunks = "".join(separate_commas(separate_punctuation(text))).split()
    for divide in (closing_apostrophe, opening_apostrophe, contraction, negation):
        chunks = [part for chunk in chunks for part in divide(chunk)]
    return chunks


def is_letter(c):
    return unicodedata.category(c)[0] == "L" if c else False


def final_period(text):
    core = text.rstrip().rstrip(CLOSING)
    before, last, second = core[:-1], core[-2:-1], core[-3:-2]
    if not core.endswith(".") or not last or last == "." or last.isspace():
        return text
    is_initial = is_letter(last) and second == "."  # as in U.N.
    return text if is_initial else before + " . " + text[len(core) :]


def inner_periods(text):
    return "".join(" . " if c == "." and ends(text, n) else c for n, c in enumerate(text))


def ends(text, n):
    """Whether a word ends before the period n, and a word with a capital follows.

    The word is in lower case, with three letters or more, or a name with five or more.
    """
    start = n
    while start and unicodedata.category(text[start - 1]) == "Ll":
        start -= 1
    if n - start >= 4 and start and unicodedata.category(text[start - 1]) == "Lu":
        start -= 1
    before = text[start - 1 : start]
    rest = text[n + 1 :].lstrip(CLOSING)
    after = rest.lstrip().lstrip("\"'([“‘")[:1]
    is_word = n - start >= 3 and (not before or before.isspace() or before in "\"'([“‘")
    return is_word and rest[:1].isspace() and after and unicodedata.category(after) == "Lu"


def separate_punctuation(text):
    found, n = "", 0
    while n < len(text):
        end = n
        if text[n : n + 2] in ("..", "--"):
            while text[end : end + 1] == text[n]:
                end += 1
        else:
            while end < len(text) and unicodedata.category(text[end]) == "Lu":
                end += 1
            is_currency = text[end : end + 1] == "$"
            end = end + 1 if is_currency else n + (text[n] in ALONE)
        found += f" {text[n:end]} " if end > n else text[n]
        n = max(end, n + 1)
    return found


def separate_commas(text):
    for n, c in enumerate(text):
        after = text[n + 1 : n + 2]
        is_inner = after and (after in ",:/" or unicodedata.category(after) == "Nd")
        yield f" {c} " if c in ",:" and not is_inner else c


def closing_apostrophe(chunk):
    head = chunk.rstrip("'’")
    return [head, chunk[len(head) :]] if head not in ("", chunk) else [chunk]


def opening_apostrophe(chunk):
    is_quote = chunk[0] in "'’" and len(chunk) > 3 and all(map(is_letter, chunk[1:4]))
    return [chunk[0], chunk[1:]] if is_quote else [chunk]


def contraction(chunk):
    for ending in "s S m M d D ll LL re RE ve VE".split():
        head = chunk[: -len(ending) - 1]
        if head and head[-1] not in "'’" and chunk[len(head) :] in ("'" + ending, "’" + ending):
            return [head, chunk[len(head) :]]
    return [chunk]


def negation(chunk):
    is_not = chunk[-3:].lower() in ("n't", "n’t") and is_letter(chunk[-4:-3])
    return [chunk[:-3], chunk[-3:]] if is_not else [chunk]


ORACLES = {
    "spaces": str.split,
    "characters": re.compile(r"\S").findall,
    "all_characters": lambda text: ["▁" if c.isspace() else c for c in text],
    "words": words,
    "treebank": treebank,
}


MARKS = (
    "a1_é,☀\ufe0f👩\u200d❤🔥🏽🇩🇪🇫#\u20e3\u200c\u00ad\u0301\u202a\u202c\u200b\ufeff\u2060\u0600ی→½ "
)
TEXTS = strategies.text(
    strategies.one_of(
        strategies.sampled_from(MARKS),
        strategies.sampled_from("aé9٣_中. ,'\u0301\u200d😀\t\n\x0b\x1c\x85\u3000\0\ufeff"),
        strategies.sampled_from(CHARACTERS),
    )
)


@pytest.mark.slow
@pytest.mark.parametrize("how", TOKENIZERS)
def test_every_character_there_is(how):
    texts = [f"a{c}b" for c in CHARACTERS]
    expected = [token for text in texts for token in ORACLES[how](text)]
    rows = tokenize(tf.constant(texts), how)
    assert [token.decode() for token in rows[rows != ""].numpy().tolist()] == expected


@pytest.mark.parametrize("how", TOKENIZERS)
@hypothesis.settings(max_examples=15)
@hypothesis.given(texts=strategies.lists(TEXTS, min_size=5, max_size=10))
def test_equal_to_the_oracle(how, texts):
    assert tokenize(texts, how) == [ORACLES[how](text) for text in texts]


PUNCTUATED = strategies.text("abntsXYé.'’,:-$\"()”/ 95", max_size=20)


@hypothesis.settings(max_examples=15)
@hypothesis.given(texts=strategies.lists(PUNCTUATED, min_size=10, max_size=20))
def test_equal_to_the_oracle_on_punctuation(texts):
    assert tokenize(texts, "treebank") == [treebank(text) for text in texts]


@pytest.mark.parametrize(
    "text, tokens",
    [
        (
            "Mr. O'Neill didn't pay $3.50 to U.N. officials, he said.",
            "Mr. O'Neill did n't pay $ 3.50 to U.N. officials , he said .",
        ),
        ('"No," they\'d say. "Why?"', '" No , " they \'d say . " Why ? "'),
        ("The dogs' owner can't come (it's 'urgent').", None),
        ("US$1,000 at 10:30 -- see http://a.org/b; 5% off...", None),
        ("It’s Apple’s best, from the U.S.", "It ’s Apple ’s best , from the U.S."),
        ("He rose 7.5. They fell to No. 2.", "He rose 7.5. They fell to No. 2 ."),
        (
            'In London. He met Gov. Lee in "Paris." No.',
            'In London . He met Gov. Lee in " Paris . " No .',
        ),
        ("We cannot, o'clock and AT&T", "We cannot , o'clock and AT&T"),
    ],
)
def test_examples_of_the_treebank(text, tokens):
    others = {
        "The": "The dogs ' owner ca n't come ( it 's ' urgent ' ) .",
        "US$": "US$ 1,000 at 10:30 -- see http://a.org/b ; 5 % off ...",
    }
    tokens = (tokens or others[text[:3]]).split()
    assert tokenize([text], "treebank") == [tokens] == [treebank(text)]
    assert tokenize([" ".join(tokens)], "treebank") == [tokens]  # tokens stay as they are


@pytest.mark.slow
def test_the_treebank_gives_back_conll_2003(tfreps_data):
    sentences = [s.tokens for s in read_tagged(tfreps_data / "conll2003" / "eng.train")]
    found = tokenize([" ".join(tokens) for tokens in sentences], "treebank")
    equal = sum(ours == theirs for ours, theirs in zip(sentences, found, strict=True))
    assert equal > 0.99 * len(sentences)


@pytest.mark.parametrize(
    "text, tokens",
    [
        ("☀\ufe0fSunny", ["☀\ufe0f", "Sunny"]),
        ("☀\ufe0f Sunny☀\ufe0f!", ["☀\ufe0f", "Sunny", "☀\ufe0f", "!"]),
        ("👩\u200d👩\u200d👧\u200d👦ok", ["👩\u200d👩\u200d👧\u200d👦", "ok"]),
        ("❤\ufe0f\u200d🔥🔥", ["❤\ufe0f\u200d🔥", "🔥"]),
        ("🏃🏽\u200d♀\ufe0f👍🏽.", ["🏃🏽\u200d♀\ufe0f", "👍🏽", "."]),
        ("🇩🇪🇫🇷🇩!", ["🇩🇪", "🇫🇷", "🇩", "!"]),
        ("1\ufe0f\u20e3 #\ufe0f\u20e3a", ["1\ufe0f\u20e3", "#\ufe0f\u20e3", "a"]),
        ("🏴\U000e0067\U000e0062\U000e007fx", ["🏴\U000e0067\U000e0062\U000e007f", "x"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("Donau\u00addampf, क\u094d\u200dष", ["Donau\u00addampf", ",", "क\u094d\u200dष"]),
        (
            "\u202aSunny\u202c. \u0301a \u0301b",
            ["\u202a", "Sunny\u202c", ".", "\u0301", "a", "\u0301", "b"],
        ),
        ("a\u200bb\ufeffc !\u0301!", ["a", "\u200b", "b\ufeffc", "!\u0301", "!"]),
        ("👩\u200da \u200d❤", ["👩\u200d", "a", "\u200d", "❤"]),
    ],
)
def test_marks_and_emoji_belong_to_what_precedes(text, tokens):
    assert tokenize([text], "words") == [tokens] == [words(text)]


def test_examples():
    text = "Don't pay 3.50€ to snake_case,cafe\u0301 über!"
    assert tokenize([text], "words") == [
        ["Don", "'", "t", "pay", "3", ".", "50", "€", "to", "snake_case", ",", "cafe\u0301"]
        + ["über", "!"]
    ]
    assert tokenize(["房间 很大。"], "characters") == [["房", "间", "很", "大", "。"]]
    assert tokenize(["Don't pay."]) == [["Don't", "pay."]]


@pytest.mark.parametrize("how", TOKENIZERS)
def test_padding_and_graphs(how):
    function = tf.function(lambda texts: tokenize(texts, how), [tf.TensorSpec([None], tf.string)])
    rows = [["a", "b"], [], []]
    if how == "all_characters":
        rows = [["a", "▁", "b"], [], ["▁", "▁"]]
    longest = max(map(len, rows))
    padded = [[token.encode() for token in row] + [b""] * (longest - len(row)) for row in rows]
    assert function(tf.constant(["a b", "", " \u3000"])).numpy().tolist() == padded
    assert function(tf.constant([], tf.string)).shape == (0, 0)
    assert tokenize([], how) == []


def test_many_texts():
    texts = [f"{n} a" for n in range(600)]
    assert tokenize(texts) == [text.split() for text in texts]


def test_bytes_that_are_no_utf8_are_kept():
    text = tf.constant([b"a\xffb \xe4\xb8 c,d"])
    assert tokenize(text, "spaces").numpy().tolist() == [[b"a\xffb", b"\xe4\xb8", b"c,d"]]
    for how in ("characters", "words"):
        expected = [b"a", b"\xffb", b"\xe4\xb8", b"c", b",", b"d"]
        assert tokenize(text, how).numpy().tolist() == [expected]


# BERT's tokenizers. Their words of the normalized text are tested in tests/text/bert.
SPECIALS = WordPieceTokenizer.SPECIAL_TOKENS


BERTS = {
    "uncased": WordPieceTokenizer(SPECIALS),
    "cased": WordPieceTokenizer(SPECIALS, lowercase=False),
    "cased, no accents": WordPieceTokenizer(SPECIALS, lowercase=False, strip_accents=True),
    "uncased, accents": WordPieceTokenizer(SPECIALS, strip_accents=False),
    "Chinese together": WordPieceTokenizer(SPECIALS, split_chinese=False),
    "aespresso": CharacterTokenizer.from_texts(["a"]),
    "characters": CharacterTokenizer.from_texts(["a"], numbers=False, whole_words=False),
}


ODD = "a1.é 中\u200b\u00ad\u0301\u0344≠\u212aİ\u1fef\0\ufffd,\u2028\x85\t\U0002b820豈"


def changed_words(tokenizer, text):
    """Returns BERT's words: control characters are dropped, then case and accents change."""
    if isinstance(tokenizer, CharacterTokenizer):
        return tokenizer._tokens.findall(text.replace("\0", "").translate(tokenizer._replacements))
    switches = tokenizer.split_chinese, tokenizer.strips_accents, tokenizer.lowercase
    changed = BertNormalizer(True, *switches).normalize_str(text)
    return [word for word, _ in BertPreTokenizer().pre_tokenize_str(changed)]


def check_words(tokenizer, texts):
    for text, words in zip(texts, tokenize(texts, tokenizer), strict=True):
        pieces = [changed_words(tokenizer, word) for word in words]
        assert sum(pieces, []) == changed_words(tokenizer, text)
        assert all(pieces)
        if isinstance(tokenizer, WordPieceTokenizer):
            assert [len(own) for own in pieces] == [1] * len(words)


@pytest.mark.slow
@pytest.mark.parametrize("name", BERTS)
def test_words_of_bert_on_every_character(name):
    texts = ["".join(f"a{c}b" for c in CHARACTERS[n : n + 99]) for n in range(0, 150_000, 99)]
    check_words(BERTS[name], texts)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", BERTS)
@hypothesis.settings(max_examples=15)
@hypothesis.given(texts=strategies.lists(TEXTS | strategies.text(ODD), min_size=5, max_size=10))
def test_words_of_bert(name, texts):
    check_words(BERTS[name], texts)


def test_examples_of_bert():
    text = "Don't\u200b 住在北京 \u0301 \u00ad Cafe\u0301≠3.5!"
    words = ["Don", "'", "t", "住", "在", "北", "京", "Cafe\u0301", "≠", "3", ".", "5", "!"]
    assert tokenize([text], BERTS["uncased"]) == [words]
    words = ["Don", "'", "t", "住在北京", "Cafe\u0301", "≠", "3", ".", "5", "!"]
    assert tokenize([text], BERTS["Chinese together"]) == [words]
    words = ["Don", "'", "t", "\u200b", "住", "在", "北", "京", "\u0301", "\u00ad", "Cafe"]
    assert tokenize([text], BERTS["aespresso"]) == [[*words, "\u0301", "≠", "3.5", "!"]]


def test_errors():
    for texts in ["a"], tf.constant(["a"]):
        with pytest.raises(
            ValueError, match="`method` must be .*'treebank' or a BERT .*; got 'bpe'"
        ):
            tokenize(texts, "bpe")
    with pytest.raises(ValueError, match="a list of texts; got the string 'a b'"):
        tokenize("a b")
