"""Hostile JSON: options of models, tokenizers, runs and commands."""

import json

from tests.hostile.format import Format
from tests.hostile.mutations import mutated, mutated_json
from tests.text.bert.whole_tokenizers import added, whole
from tfreps._src.cli.command import Command, Group
from tfreps._src.cli.options import Option
from tfreps._src.convert import bilm_tf_options, hugging_face_config
from tfreps._src.files.json_files import read_json
from tfreps.runs import RunFolder
from tfreps.text import (
    CharacterTokenizer,
    WordCharIndexer,
    checkpoint_tokenizer,
    read_tokenizer,
    write_tokenizer,
)

BILM_TF = {
    "bidirectional": True,
    "char_cnn": {
        "activation": "relu",
        "embedding": {"dim": 4},
        "filters": [[1, 8], [2, 8]],
        "max_characters_per_token": 50,
        "n_characters": 262,
        "n_highway": 1,
    },
    "lstm": {"cell_clip": 3, "dim": 16, "n_layers": 2, "proj_clip": 3, "projection_dim": 8},
    "n_tokens_vocab": 20,
    "dropout": 0.1,
    "sample_softmax": True,
}
BERT = {
    "architectures": ["BertForTokenClassification"],
    "model_type": "bert",
    "vocab_size": 30,
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": 16,
    "type_vocab_size": 2,
    "id2label": {"0": "O", "1": "B-PER"},
    "pruned_heads": {},
    "problem_type": None,
}
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "run", "##s", "两"]
TOKENIZER = whole(PIECES, added_tokens=added(*PIECES[:5]))
TOKENIZER_CONFIG = {
    "tokenizer_class": "BertTokenizer",
    "do_lower_case": True,
    "tokenize_chinese_chars": True,
    "model_max_length": 512,
    "added_tokens_decoder": {"0": {"content": "[PAD]"}},
    "pad_token": {"content": "[PAD]"},
    "never_split": None,
}
RUN = {"command": "train-tagger", "format_version": 4, "options": {"units": 8, "tokens": "words"}}
WORD_CHARACTERS = {"characters": ["a", "两"], "words": ["a", "dog"], "max_characters": 9}


def json_file(name, document, read, cases=6_000):
    """Returns a `Format` of one JSON file; `read` takes its path and a `Random`."""

    def ask(ready, random, folder):
        path = folder / "case.json"
        path.write_bytes(mutated_json(document, random))
        try:
            read(path, random)
        finally:
            path.unlink()
        return True

    return Format(name, cases, lambda folder: None, ask, quick=True)


def bilm_tf(path, random):
    found = bilm_tf_options.read_options(path)
    assert max(found["units"], found["projection_dim"]) <= 2**24
    if random.random() < 0.5:
        bilm_tf_options.training_options(read_json(path), str(path))


def bert(path, random):
    config = read_json(path)
    options = hugging_face_config.encoder_options(config, str(path))
    assert options["hidden_dim"] % options["num_heads"] == 0
    assert len(hugging_face_config.label_names(config, 2, str(path))) == 2
    hugging_face_config.head_dropout(config, str(path))


def dictionary(path, random):
    found = CharacterTokenizer.from_dictionary(path, random.choice([None, None, 24]))
    assert len(found.text_to_ids("两 3")) == 2


def word_characters(path, random):
    found = WordCharIndexer.read(path)
    assert found.num_character_ids is None or found.num_character_ids > 6
    assert found.vocabulary_size != 0


def options_of_a_run(path, random):
    run = path.with_name("run")
    run.mkdir()
    try:
        path.rename(run / "options.json")
        options = RunFolder.open(run, random.choice([None, "train-tagger"])).options
        assert isinstance(options, dict)
    finally:
        (run / "options.json").rename(path)
        run.rmdir()


OPTIONS = {
    "units": Option(int, 3, "Width."),
    "rate": Option(float, None, "Rate."),
    "filters": Option(json.loads, None, "Filters."),
    "files": Option(str, None, "Files.", many=True),
    "encoder": Option(str, None, "Encoder.", ["cnn", "bilstm"]),
    "lowercase": Option(bool, False, "Lower case."),
}
READER = Command("test", "Tests.", {}, [Group("all", "Options.", OPTIONS)])


def options_of_a_program(path, random):
    assert type(READER.parse(["--config", str(path)]).units) is int


PROGRAM = {"units": 8, "rate": 0.1, "filters": [[1, 8]], "files": ["a"], "encoder": "cnn"}
DICTIONARY = {"[PAD]": 0, "两": 20, "3": 21, "good": 22}
FORMATS = [
    json_file("options.json of bilm-tf", BILM_TF, bilm_tf),
    json_file("config.json of BERT", BERT, bert),
    json_file("dictionary of characters", DICTIONARY, dictionary),
    json_file("word_characters.json", WORD_CHARACTERS, word_characters),
    json_file("options.json of a run", RUN, options_of_a_run),
    json_file("options of a program", PROGRAM | {"lowercase": True}, options_of_a_program),
]


def tokenizer_files(folder):
    """Returns the contents of a checkpoint's files by name, including our own file."""
    write_tokenizer(CharacterTokenizer.from_texts(["两 3 good"]), folder / "own.json")
    own = json.loads((folder / "own.json").read_text(encoding="utf-8"))
    (folder / "own.json").unlink()
    return {
        "vocab.txt": "".join(piece + "\n" for piece in PIECES),
        "tokenizer.json": TOKENIZER,
        "tokenizer_config.json": TOKENIZER_CONFIG,
        "special_tokens_map.json": {"pad_token": "[PAD]", "unk_token": {"content": "[UNK]"}},
        "added_tokens.json": {"[PAD]": 0},
        "tfreps_tokenizer.json": own,
    }


def tokenizers(ready, random, folder):
    """Writes a folder with some of these files, of which one or two are corrupt."""
    own = random.random() < 0.25
    names = ["tfreps_tokenizer.json"] if own else sorted(set(ready) - {"tfreps_tokenizer.json"})
    if not own:
        names = [n for n in names if random.random() < 0.7] or ["tokenizer.json"]
    broken = random.sample(names, min(len(names), random.choice([1, 1, 2])))
    case = folder / "tokenizer"
    case.mkdir()
    try:
        for name in names:
            content = ready[name]
            if name == "tokenizer.json" and random.random() < 0.5:
                content = {**content, "pre_tokenizer": {"type": "WhitespaceSplit"}}
            if isinstance(content, str):
                data = content.encode()
                data = mutated(data, random) if name in broken else data
            else:
                data = json.dumps(content).encode()
                data = mutated_json(content, random) if name in broken else data
            (case / name).write_bytes(data)
        found = read_tokenizer(case / names[0]) if own else checkpoint_tokenizer(case)
        assert max(found.text_to_ids("runs 两 3"), default=0) < len(found.vocabulary)
    finally:
        for name in names:
            (case / name).unlink(missing_ok=True)
        case.rmdir()
    return True


FORMATS.append(Format("tokenizer.json and others", 6_000, tokenizer_files, tokenizers, quick=True))
