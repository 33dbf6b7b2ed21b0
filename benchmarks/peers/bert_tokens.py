"""Writes the ids of transformers' BertTokenizer for difficult texts to a fixture.

    echo [] | .venv-peers/torch/bin/python -m benchmarks.peers.loop bert_tokens.write

The fixture, tests/text/bert/bert_pieces.json, contains a vocabulary, texts and options; the program
adds the ids.
"""

import json
import pathlib

FILE = pathlib.Path(__file__).resolve().parents[2].joinpath("tests/text/bert/bert_pieces.json")


def write():
    cases = json.loads(FILE.read_text(encoding="utf-8"))
    for case in cases["options"]:
        case["ids"] = peer_ids(cases["vocabulary"], cases["texts"], case)
    FILE.write_text(json.dumps(cases, indent=0, ensure_ascii=True) + "\n", encoding="utf-8")


def peer_ids(vocabulary, texts, options):
    """Returns the ids of each text; special tokens such as `[MASK]` count as ordinary text."""
    from transformers import BertTokenizer

    tokenizer = BertTokenizer(
        vocab={piece: number for number, piece in enumerate(vocabulary)},
        do_lower_case=options["lowercase"],
        strip_accents=options["strip_accents"],
        tokenize_chinese_chars=options["split_chinese"],
        split_special_tokens=True,
    )
    return [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
