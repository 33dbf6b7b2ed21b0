"""Contents of tokenizer.json files, with BERT's tokenizer as the base of all changes."""

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = [*SPECIALS, "a", "##b", "b", "-", "a-b", "Runs", "run", "runs", "##s", "__s", "caf"]
PIECES += ["##e", "##é", "两", "##两", "!", "<s>", "Ab"]
ADDED = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}


def token(name, segment=0):
    return {"SpecialToken": {"id": name, "type_id": segment}}


def text(name, segment=0):
    return {"Sequence": {"id": name, "type_id": segment}}


def template(start="[CLS]", end="[SEP]", segment=1, ids=None):
    ids = ids or {}
    used = {
        name: {"id": name, "ids": [ids.get(name, PIECES.index(name))], "tokens": [name]}
        for name in (start, end)
    }
    single = [token(start), text("A"), token(end)]
    pair = [*single, text("B", segment), token(end, segment)]
    kind = "TemplateProcessing"
    return {"type": kind, "single": single, "pair": pair, "special_tokens": used}


def bert_processing(start="[CLS]", end="[SEP]", kind="BertProcessing"):
    ends = {"sep": [end, PIECES.index(end)], "cls": [start, PIECES.index(start)]}
    return {"type": kind, **ends}


def added(*names, special=True):
    ids = {name: PIECES.index(name) if name in PIECES else len(PIECES) for name in names}
    return [{"id": ids[name], "content": name, **ADDED, "special": special} for name in names]


def whole(pieces=PIECES, **changes):
    """Returns the content of a file; each change replaces a part or some of its keys."""
    found = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": template(),
        "decoder": None,
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {piece: number for number, piece in enumerate(pieces)},
        },
    }
    for name, change in changes.items():
        keys = found[name] if isinstance(found[name], dict) else {}
        is_part = isinstance(change, dict) and "type" not in change
        found[name] = {**keys, **change} if is_part else change
    return found
