"""The tables of training/RESULTS.md: their inputs, trainings, baselines and output."""

import json
import pathlib
import re
import subprocess

import pytest

from benchmarks import baselines, domains, pretraining, slstm_study, tables, wikitext2
from tests.conftest import CHECKOUT
from tests.training import labeling
from tfreps._src.cli.commands import COMMANDS, main
from tfreps.text import Vocabulary

BERTS = "bert-32", "bert", "bert3-32", "bert3"


@pytest.fixture
def trainings(monkeypatch):
    """The commands of all trainings, each of which writes metrics instead of training."""

    def run(command, **_):
        words = command[command.index("tfreps") + 1 :]
        folder = pathlib.Path(words[words.index("--run") + 1])
        seed = int(words[words.index("--seed") + 1]) if "--seed" in words else 0
        scores = {"precision": 0.9, "recall": 0.8, "f1": 0.5 + seed / 10}
        own = {"baby": 0.5, "dvd": 0.7}.get(folder.name, 0.5)
        test = {"weighted": scores, "spans": {"micro": scores}, "accuracy": own + seed / 10}
        test["auc"] = test["accuracy"]
        folder.mkdir(exist_ok=True, parents=True)
        parts = {"test": test} if "--test" in words else {"validation": test}
        (folder / "results.json").write_text(json.dumps({"steps": 1, **parts}))
        found.append(words)

    found = []
    monkeypatch.setattr(subprocess, "run", run)
    return found


@pytest.fixture
def data(tmp_path):
    """Minimal data sets."""
    for name in ("hotel_reviews", "resume_ner", "fdu_mtl"):
        (tmp_path / name).mkdir()
    lines = [str({"text": text, "label": 1}) for text in ("房间 好。\n很好", "差")]
    (tmp_path / "hotel_reviews/train_sentiment.txt").write_text("\n".join(lines), encoding="utf-8")
    columns = "高 B-NAME\n勇 E-NAME\n\nP O\n8 O\n"
    (tmp_path / "resume_ner/train.char.bmes").write_text(columns, encoding="utf-8")
    (tmp_path / "fdu_mtl/baby.task.unlabel").write_text("It's good!\n" * 150, encoding="utf-8")
    (tmp_path / "fdu_mtl/MR.task.unlabel").write_bytes("Café".encode("latin-1"))
    return tmp_path


@pytest.mark.parametrize("name", tables.TABLES)
def test_every_command_of_a_table_is_one_of_tfreps(name, capsys):
    """The program exists and accepts the flags; only the files are missing."""
    places = {"data": "NOWHERE", "inputs": "NOWHERE", "run": "NOWHERE/run"}
    places |= {"vectors": "NOWHERE/glove.txt", "bert": "NOWHERE/bert", "reviews": "NOWHERE"}
    for command, _ in tables.TABLES[name].values():
        words = command.format(**places, seed=1, domain="baby", encoding="latin-1").split()
        assert words[0] in COMMANDS and main(words) == 2
        assert "NOWHERE/" in capsys.readouterr().err


def test_rows_are_trained_once_and_averaged(tmp_path, trainings, capsys):
    command = ["resume_ner", "--data", "DATA", "--runs", str(tmp_path), "--only", "LSTM+"]
    line = "| S-LSTM+CRF | 0.9000 ± 0.0000 | 0.8000 ± 0.0000 | 0.6000 ± 0.1000 "
    line += "| 0.6000 ± 0.1000 | 0.5000, 0.6000, 0.7000 |"
    for _ in range(2):
        assert tables.main(command) == 0
        assert capsys.readouterr().out.splitlines()[-1] == line and len(trainings) == 12


def test_domains_are_averaged_within_a_seed(tmp_path, trainings, capsys):
    command = ["fdu_mtl", "--data", "DATA", "--runs", str(tmp_path), "--only", "TextCNN, own"]
    assert tables.main([*command, "--domains", "baby", "dvd", "--seeds", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "| TextCNN, own vectors | 0.6500 ± 0.0500 | 0.6000, 0.7000 |" in lines
    encodings = {words[2]: words[words.index("--encoding") + 1] for words in trainings}
    assert encodings["DATA/fdu_mtl/dvd.task.train"] == "latin-1"


def test_a_name_that_no_row_has_lists_the_rows(tmp_path, trainings, capsys):
    command = ["mr", "--data", "DATA", "--runs", str(tmp_path)]
    with pytest.raises(SystemExit) as stopped:
        tables.main([*command, "--only", "all-MiniLM-L6-v2, fine-tuned"])
    out, err = capsys.readouterr()
    assert stopped.value.code == 2 and not out and not trainings
    assert "--only 'all-MiniLM-L6-v2, fine-tuned' selects no row. The rows are:\n  TextC" in err
    assert tables.main([*command, "--only", "MiniLM"]) == 2  # needs --bert
    assert capsys.readouterr().out == "MiniLM: left out, because --bert is not given.\n"


@pytest.mark.parametrize(
    "name", ["resume_ner", "weibo", "conll2003", "mr", "fdu_mtl", "chnsenticorp", "hotel_reviews"]
)
def test_only_accepts_the_names_of_the_page(name, tmp_path, trainings, capsys):
    """The first table of a section of RESULTS.md has the rows of `tables` and simple methods."""
    page = (CHECKOUT / "training" / "RESULTS.md").read_text(encoding="utf-8")
    section = page.split(f": {name}\n")[1].split("\n## ")[0]
    rows = re.search(r"^\|---.*\n((\|.*\n)+)", section, re.M)[1].splitlines()
    names = [row.split(" | ")[0].removeprefix("| ") for row in rows]
    others = "published: ", "naive Bayes", "logistic regression", "HMM"
    command = [name, "--data", "DATA", "--runs", str(tmp_path), "--domains", "baby"]
    command += ["--vectors", "FILE", "--bert", "MODEL", "--seeds", "1", "--only"]
    for row in names:
        if not row.startswith(others):
            assert tables.main([*command, row]) == 0, row
            heading = capsys.readouterr().out.splitlines()[-1].split(" | ")[0]
            assert row.split(" (")[0] == heading.removeprefix("| ")
    assert len(trainings) >= 2


def test_rows_of_published_files_are_left_out_without_them(tmp_path, trainings, capsys):
    command = ["conll2003", "--data", "DATA", "--runs", str(tmp_path), "--only", "BiLSTM"]
    assert tables.main(command) == 0 and len(trainings) == 6
    left_out = "BiLSTM+CRF, characters, GloVe: left out, because --vectors is not given."
    assert left_out in capsys.readouterr().out.splitlines()
    assert tables.main([*command, "--vectors", "glove.txt"]) == 0 and len(trainings) == 10
    assert trainings[-1][trainings[-1].index("--vectors") + 1] == "glove.txt"
    lines = capsys.readouterr().out.splitlines()
    values = "0.6000 ± 0.1000 | 0.6000 ± 0.1000 | 0.5000, 0.6000, 0.7000"
    assert lines[-2] == f"| BiLSTM+CRF, characters, GloVe | {values} |"


@pytest.mark.parametrize("table", pretraining.TABLES)
def test_inputs_are_made_once_and_an_interrupted_training_is_resumed(table, data, trainings):
    inputs = data / f"{table}-inputs"
    flags = [table, "--data", str(data), "--runs", str(data)]
    assert pretraining.main([*flags, "--only", "bert"]) == 0
    names = [pathlib.Path(words[words.index("--run") + 1]).name for words in trainings]
    assert names == list(BERTS[: len(names)])
    for short, long in zip(trainings[::2], trainings[1::2], strict=True):
        assert short[short.index("--max-length") + 1] == "32" and "--init" not in short
        assert long[long.index("--init") + 1] == short[short.index("--run") + 1]
    documents = {
        "fdu_mtl": "it ' s good !\n\n",
        "hotel_reviews": "房间 好。 很好\n\n差\n\n",
        "resume_ner": "高 勇\n\nP 8\n\n",
    }
    assert documents[table] in (inputs / "bert.txt").read_text(encoding="utf-8")
    (inputs / "bert" / "results.json").write_text('{"training": {}}')  # interrupted
    trainings.clear()
    assert pretraining.main([*flags, "--only", "bert"]) == 0
    assert len(trainings) == 1 and "--resume" in trainings[0]
    if table == "fdu_mtl":
        parts = [(inputs / f"{part}.txt").read_text("utf-8") for part in ("train", "validation")]
        assert [part.count("\n") for part in parts] == [150, 1] and "café" in "".join(parts)
    if table != "resume_ner":  # its models take no word vectors
        with pytest.raises(SystemExit, match="--peer-python"):
            pretraining.main([*flags, "--only", "vectors"])


def test_domains_are_those_with_a_test_set_and_can_be_read(tfreps_data):
    files = (tfreps_data / "fdu_mtl").glob("*.task.test")
    assert sorted(path.name.split(".")[0] for path in files) == sorted(domains.DOMAINS)
    for path in (tfreps_data / "fdu_mtl").iterdir():
        path.read_bytes().decode(domains.encoding_of(path.name.split(".")[0]))


@pytest.mark.slow
def test_baselines_of_one_domain_and_of_all(tmp_path, capsys):
    """A word is positive in one domain and negative in another, which one model cannot learn."""
    pytest.importorskip("sklearn", reason="the baselines are scikit-learn's")
    for name in "fdu_mtl", "hotel_reviews", "chnsenticorp":
        (tmp_path / name).mkdir()
    for number, domain in enumerate(baselines.DOMAINS):
        lines = [f"{n % 2}\tgood{(number + n % 2) % 9} it is {n}\n" for n in range(40)]
        (tmp_path / f"fdu_mtl/{domain}.task.train").write_text("".join(lines[:20]))
        (tmp_path / f"fdu_mtl/{domain}.task.test").write_text("".join(lines[20:]))
    for part in "train", "test":
        lines = [str({"text": f"it is {'bad good'.split()[n % 2]}", "label": n % 2}) for n in
                 range(30)]  # fmt: skip
        (tmp_path / f"hotel_reviews/{part}_sentiment.txt").write_text("\r\n".join(lines))
    lines = [f"{'bad good'.split()[n % 2]} {n // 4}\t{n % 2}\n" for n in range(80)]
    (tmp_path / "chnsenticorp/train.tsv").write_text("".join(lines))
    means = {}
    for flags in [], ["--together"]:
        assert baselines.main(["fdu_mtl", "--data", str(tmp_path), *flags]) == 0
        found = json.loads(capsys.readouterr().out)["logistic regression"]
        means[len(flags)] = found["mean"]
    assert means[0] == 1.0 and means[1] < 0.9
    assert baselines.main(["hotel_reviews", "--data", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out)["naive Bayes"] == {"accuracy": 1.0, "auc": 1.0}
    assert baselines.main(["chnsenticorp", "--data", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)["logistic regression"]
    assert found == {"seed 0": 1.0, "seed 1": 1.0, "seed 2": 1.0, "mean": 1.0}


@pytest.mark.parametrize("name", [*slstm_study.ROWS][::4])
def test_commands_of_the_study_are_those_of_tfreps(name, capsys):
    places = {"data": "NOWHERE", "runs": "NOWHERE", "run": "NOWHERE/run", "domain": "baby"}
    command = slstm_study.COMMON.format(**places, encoding="utf-8") + slstm_study.ROWS[name]
    assert main(command.split()) == 2
    assert "'NOWHERE/" in capsys.readouterr().err


@pytest.mark.slow
def test_a_small_study(tmp_path, monkeypatch, capsys):
    def train_here(run, words):
        assert main([word for word in words if word not in ("bfloat16", "--precision")]) == 0
        return labeling.results(run)

    folder, inputs = tmp_path / "fdu_mtl", tmp_path / "fdu_mtl-inputs"
    folder.mkdir()
    inputs.mkdir()
    labeling.write_labeled(folder, sizes=(60, 4, 20))
    for part in "train", "test":
        (folder / f"{part}.tsv").rename(folder / f"baby.task.{part}")
    (inputs / "vectors.txt").write_text("2 3\ngood 1 0 0\nbad 0 1 0\n")
    small = "--units 4 --embedding-dim 4 --epochs 2"
    names = {
        "TextCNN": "--encoder cnn --set num_filters=2 widths=2 --epochs 2",
        "BiLSTM": f"--encoder bilstm {small}",
        "S-LSTM, 2 steps, window 1": f"--encoder slstm --set num_steps=2 {small}",
    }
    for name, value in (
        ("ROWS", names),
        ("OUTLINE", [(2, 1)]),
        ("WINDOWS", (1,)),
        ("BY_LENGTH", ("TextCNN",)),
        ("LENGTHS", (0, 7, 257)),
        ("train_once", train_here),
    ):
        monkeypatch.setattr(slstm_study, name, value)
    flags = ["--data", str(tmp_path), "--runs", str(tmp_path), "--domain", "baby"]
    assert slstm_study.main(flags) == 0
    lines = capsys.readouterr().out.splitlines()
    texts = next(line for line in lines if line.startswith("| texts |")).split("|")
    assert int(texts[2]) + int(texts[3]) == 20
    for plot in "slstm_steps.png", "slstm_lengths.png":
        assert (tmp_path / plot).read_bytes().startswith(b"\x89PNG")


def test_wikitext_is_split_and_trained_as_by_bilm_tf(tmp_path):
    text = "".join(f" w{i} <unk> the \n \n" for i in range(20))
    source = tmp_path / "valid.txt"
    source.write_text(text, encoding="utf-8")
    wikitext2.write_texts(source, tmp_path)
    train = (tmp_path / "train.txt").read_text(encoding="utf-8").splitlines()
    assert train == [f"w{i} <UNK> the" for i in range(18)]
    assert (tmp_path / "test.txt").read_text("utf-8") == "w18 <UNK> the\nw19 <UNK> the\n"
    vocabulary = Vocabulary.read(tmp_path / "vocabulary.txt")
    assert vocabulary.tokens[:4] == ["<S>", "</S>", "<UNK>", "the"] and len(vocabulary) == 22
