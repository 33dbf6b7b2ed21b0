"""Creates the models, dictionaries and sentences of benchmarks/many_langs_parity.py."""

import copy
import itertools
import json
import random

from benchmarks.topics_text import tokens
from tfreps._src.convert.many_langs_files import PACKAGED, PACKAGED_NAMES

SENTENCES, NUM_WORDS = 200, 20_000


def tiny(**changes):
    """Returns the options of a small model, in which clipping has an effect, with `changes`."""
    sizes = {"projection_dim": 8, "dim": 24, "word_dim": 5, "char_dim": 6}
    filters = {"filters": [[1, 4], [2, 8], [3, 8], [5, 4]], "max_characters_per_token": 12}
    return {**sizes, **filters, "cell_clip": 0.5, "proj_clip": 0.4, **changes}


# Name of a case -> options that differ from the published ones.
CASES = {
    "published sizes": {},
    "published sizes, characters alone": {"word_dim": 0},
    "tiny": tiny(),
    "tiny, characters alone": tiny(word_dim=0),
    "tiny, tanh, three layers, no clip": tiny(
        activation="tanh", n_layers=3, cell_clip=None, proj_clip=0
    ),
    "tiny, one layer, no highway": tiny(n_layers=1, n_highway=0),
    "tiny, words alone": tiny(char_dim=0),
    "tiny, LSTM over characters": tiny(**{"token_embedder.name": "lstm"}),
    "tiny, plain LSTMs": tiny(**{"encoder.name": "lstm"}),
}
# Models that tfreps does not read, and the option that its error must name.
REFUSED = {
    "tiny, LSTM over characters": "token_embedder.name",
    "tiny, plain LSTMs": "encoder.name",
}
# Short words in eight scripts.
WORDS = {
    "Latin": "the river runs under a bridge café naïve Straße über señor İzmir ngày łódź",
    "Cyrillic": "река течёт под мостом и дом стоит на горе місто їжак ђак җир",
    "Greek": "το ποτάμι κυλά κάτω από τη γέφυρα και η πόλη είναι μεγάλη",
    "Arabic": "النهر يجري تحت الجسر والمدينة كبيرة في كِتاب گربه",
    "Hebrew": "הנהר זורם מתחת לגשר והעיר גדולה שָׁלוֹם ספר בית",
    "Devanagari": "नदी पुल के नीचे बहती है और शहर बड़ा क्षेत्र",
    "Chinese": "河 水 流 过 桥 下 城市 很 大 海林 北京 的 我们 龘",
    "Japanese and Hangul": "川 が 橋の 下を 流れる カタカナ ひらがな 강이 다리 아래로 흐른다 크다",
}
# Blocks of Unicode that are in the dictionary of characters.
BLOCKS = (
    *((0x21, 0x250), (0x370, 0x400), (0x400, 0x500), (0x5D0, 0x5EB), (0x620, 0x660)),
    *((0x900, 0x950), (0x3041, 0x3097), (0x30A1, 0x30FB), (0x4E00, 0x5600), (0xAC00, 0xB000)),
)
SPECIAL = "<bos>", "<eos>", "<oov>", "<bow>", "<eow>", "<pad>"
LONG = "donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"
# Tokens that are special, empty, white space, of unknown characters, or too long for the model.
ODD = (*SPECIAL, "", "\u3000", "😀", "ᚠᚢᚦ", "e\u0301", "👩\u200d👧", LONG, "<bos>" * 12, "ก" * 49)


def config_of(changes):
    """Returns the published options with the changes of a case."""
    config = {**copy.deepcopy(PACKAGED), "dropout": 0.1}
    config["classifier"] = {"name": "sampled_softmax", "n_samples": 8192}
    for name, value in changes.items():
        part, _, key = name.rpartition(".")
        config[part or ("encoder" if key in PACKAGED["encoder"] else "token_embedder")][key] = value
    return config


def write_case(name, folder):
    """Writes the files of a model except its weights: config, options and dictionaries."""
    config = config_of(CASES[name])
    folder.mkdir(parents=True)
    # This file is part of the package of the original program.
    named = f"configs/{PACKAGED_NAMES[0]}"
    if CASES[name]:
        named = "cnn.json"
        (folder / named).write_text(json.dumps(config), "utf-8")
    about = {"config_path": named, "seed": len(name)}
    (folder / "config.json").write_text(json.dumps(about), "utf-8")
    for kind, entries in ("char", dictionary_characters()), ("word", dictionary_words()):
        if config["token_embedder"][f"{kind}_dim"]:
            lines = "".join(f"{entry}\t{number}\n" for number, entry in enumerate(entries))
            (folder / f"{kind}.dic").write_text(lines, "utf-8")


def dictionary_characters():
    """Returns thousands of characters, with most of those in `WORDS`, and the special entries."""
    found = {chr(code) for block in BLOCKS for code in range(*block)}
    known = sorted(filter(str.isprintable, found.union(*WORDS.values()) - {" "}))
    known = [character for number, character in enumerate(known) if number % 9]
    return [*SPECIAL[:3], *known[:1000], "\u3000", *known[1000:], *SPECIAL[3:]]


def dictionary_words():
    """Returns 20,000 words: most of those in `WORDS`, compounds of them, and special entries."""
    lists = [words.split() for words in WORDS.values()]
    compounds = (
        "".join(p) for n in (1, 2, 3, 4) for w in lists for p in itertools.product(w, repeat=n)
    )
    known = dict.fromkeys(word for number, word in enumerate(compounds) if number % 9)
    special = "<oov>", "<bos>", "<eos>", "<pad>", "\u3000", LONG[:48], LONG[:10]
    return [*special, *itertools.islice(known, NUM_WORDS - len(special))]


def make_sentences():
    """Returns 200 sentences of 0 to 30 tokens: 25 in each script, with unusual tokens."""
    draw = random.Random(0)
    sentences = []
    for words in WORDS.values():
        words = words.split()
        for number in range(SENTENCES // len(WORDS)):
            length = draw.randint(20, 30) if number == 7 else draw.randint(1, 8) if number else 0
            sentences.append([_token(draw, words) for _ in range(length)])
    for place, odd in enumerate(ODD):
        sentences[9 * place + 1] = [odd]  # each odd token forms a sentence of its own
    return sentences


def _token(draw, words):
    chance = draw.random()
    if chance < 0.1:
        return draw.choice(ODD)
    if chance < 0.15:
        words = draw.choice([*WORDS.values()]).split()
    return "".join(draw.choices(words, k=draw.choice([1, 1, 1, 2, 3])))


def texts(rows, length, number=8):
    """Returns batches of sentences of `length` tokens from the help topics of Python."""
    words = tokens()
    starts = range(0, number * rows * length, length)
    sentences = [words[start : start + length] for start in starts]
    return [sentences[i : i + rows] for i in range(0, len(sentences), rows)]
