"""Writes what the BertTokenizer of transformers makes of difficult texts, for the tests.

    peers/bin/python -m benchmarks.peer_bert_tokens

In an environment of its own, with transformers. The file has a vocabulary, texts, and options;
this fills in the ids.
"""

import json
import pathlib

FILE = pathlib.Path(__file__).resolve().parents[1].joinpath("tests/text/bert/bert_pieces.json")


def main(argv=None):
    cases = json.loads(FILE.read_text(encoding="utf-8"))
    for case in cases["options"]:
        case["ids"] = peer_ids(cases["vocabulary"], cases["texts"], case)
    FILE.write_text(json.dumps(cases, indent=0, ensure_ascii=True) + "\n", encoding="utf-8")
    return 0


def peer_ids(vocabulary, texts, options):
    """The ids of each text; `[MASK]` and such in a text are ordinary text."""
    from transformers import BertTokenizer

    tokenizer = BertTokenizer(
        vocab={piece: number for number, piece in enumerate(vocabulary)},
        do_lower_case=options["lowercase"],
        strip_accents=options["strip_accents"],
        tokenize_chinese_chars=options["split_chinese"],
        split_special_tokens=True,
    )
    return [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]


if __name__ == "__main__":
    raise SystemExit(main())
