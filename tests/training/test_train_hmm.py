import json

import numpy as np
import pytest

from tfreps import load
from tfreps.__main__ import main
from tfreps._src.runs import run_folder
from tfreps.training import train_hmm

PLACES, PEOPLE, VERBS = ("Rome", "Oslo", "New York"), ("Ada", "Max", "Ada Max"), ("saw", "left")


def sentences(number, seed):
    """Yields the `(token, tag)` pairs of sentences such as `Max saw New York .` in BMES."""
    rng = np.random.default_rng(seed)
    for _ in range(number):
        line = []
        person, verb, place = (names[rng.integers(len(names))] for names in (PEOPLE, VERBS, PLACES))
        for words, kind in ((person, "-PER"), (verb, None), (place, "-LOC"), (".", None)):
            words = words.split()
            letters = "S" if len(words) == 1 else "BE"
            line += zip(words, [x + kind if kind else "O" for x in letters], strict=True)
        yield line


def write(path, lines):
    text = "\n\n".join("\n".join(f"{token} {tag}" for token, tag in line) for line in lines)
    path.write_text(text + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def corpus(tmp_path):
    parts = {"train": sentences(40, 0), "validation": sentences(15, 1), "test": sentences(15, 2)}
    files = {part: write(tmp_path / f"{part}.conll", lines) for part, lines in parts.items()}
    return [word for part, path in files.items() for word in (f"--{part}", path)]


@pytest.fixture
def short_grid(monkeypatch):
    monkeypatch.setattr(train_hmm, "GRID", (0.1, 1.0))
    monkeypatch.setattr(train_hmm, "ROUNDS", 1)


def train(corpus, tmp_path, *options):
    run = tmp_path / "run"
    arguments = [*corpus, "--scheme", "bmes", "--run", str(run), *options]
    train_hmm.main(arguments)
    return run


def results(run):
    return json.loads((run / "results.json").read_text())


def test_a_run_folder(short_grid, corpus, tmp_path, capsys):
    run = train(corpus, tmp_path, "--use-end")
    unused = json.loads((run / "options.json").read_text())["unused"]
    assert "baum_welch_steps" in unused and not {"use_end", "smoothing"} & set(unused)
    assert {"options.json", "vocabulary.txt", "tags.txt", "model.keras", "results.json"} <= {
        path.name for path in run.iterdir()
    }
    found = results(run)
    assert set(found["smoothing"]) == {"emission", "transition", "initial", "end"}
    assert found["test"]["spans"]["micro"]["f1"] == found["test"]["accuracy"] == 1.0
    printed = capsys.readouterr().out
    assert "test        precision / recall / F1, token-weighted: 1.0000" in printed
    assert f"Next: tfreps tag {run}" in printed

    manifest = json.loads((run / "manifest.json").read_text())
    assert set(manifest["assets"]) == {"options.json", "vocabulary.txt", "tags.txt"}
    trained = load(run)
    sentences = [["Ada", "left", "New", "York", "."], [""] * 5, ["Oslo"] + [""] * 4]
    features = trained.indexer(np.array(sentences))
    tags = trained.model.decode(features)[0].numpy()
    assert [trained.names[tag] for tag in tags[0]] == ["S-PER", "O", "B-LOC", "E-LOC", "O"]
    assert trained.model(features)["mask"].numpy().sum(1).tolist() == [5, 0, 1]
    options = run_folder.RunFolder.open(run, "train-hmm").options
    assert options["smoothing"] == "tuned" and options["unknown"] == "hapax"


@pytest.mark.slow
def test_json_lines_without_a_scheme(tmp_path):
    lines = []
    for line in sentences(20, 3):
        record = {"text": [token for token, _ in line], "label": [tag for _, tag in line]}
        lines.append(record)
    (tmp_path / "train.json").write_text("\n".join(map(json.dumps, lines)))
    files = ["--train", str(tmp_path / "train.json"), "--test", str(tmp_path / "train.json")]
    options = ["--format", "json", "--smoothing", "0.5", "--scheme", "none"]
    run = tmp_path / "run"
    train_hmm.main([*files, *options, "--run", str(run)])
    found = results(run)
    assert found["smoothing"]["emission"] == 0.5 and "validation" not in found
    assert "spans" not in found["test"] and found["test"]["accuracy"] > 0.9


@pytest.mark.slow
def test_the_search_never_ends_below_where_it_began(short_grid, corpus, tmp_path):
    tuned = results(train(corpus, tmp_path))
    fixed = results(train(corpus, tmp_path, "--smoothing", "0.1", "--overwrite"))
    assert tuned["validation"]["weighted"]["f1"] >= fixed["validation"]["weighted"]["f1"]


@pytest.mark.slow
def test_floor(corpus, tmp_path):
    run = train(corpus, tmp_path, "--floor", "1e-10", "--unknown", "uniform")
    assert results(run)["smoothing"] == {"floor": 1e-10}


@pytest.mark.slow
def test_goes_on_with_sentences_without_tags(corpus, tmp_path, capsys):
    text = tmp_path / "more.txt"
    lines = [" ".join(token for token, _ in line) for line in sentences(30, 7)]
    text.write_text("\n".join([*lines, "", "Rome"]) + "\n")
    options = ["--unlabeled", str(text), "--baum-welch-steps", "3", "--smoothing", "0.1"]
    run = train(corpus, tmp_path, *options)
    learned = results(run)["baum_welch"]
    values = [step["log_likelihood"] for step in learned["steps"]]
    assert len(values) == 3 and values[0] > learned["log_likelihood_before"]
    assert 0 <= learned["kept_step"] <= 3
    printed = capsys.readouterr().out
    assert "Baum-Welch, step 3" in printed and f"Selected step {learned['kept_step']} (" in printed


@pytest.mark.parametrize(
    "options, message",
    [
        (["--scheme", "bio"], "B|E|S"),
        (["--smoothing", "-1"], "must be tuned, or a finite number that is at least 0; got -1"),
        (["--smoothing", "0.1", "--floor", "1e-8"], "--floor cannot be combined with --smoothing"),
        (["--baum-welch-steps", "0"], "at least 1"),
        (["--min-count", "1000"], "--min-count must be at most"),
        (["--train", "nowhere.conll"], "matches no file"),
    ],
)
def test_bad_options(corpus, tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        train(corpus, tmp_path, *options)
    assert not (tmp_path / "run").exists()


def test_tuning_needs_validation_data(corpus, tmp_path):
    with pytest.raises(ValueError, match="Give --validation, or a number"):
        train(corpus[:2], tmp_path)


@pytest.mark.parametrize("part", ["validation", "test"])
def test_a_new_tag(corpus, tmp_path, part):
    write(tmp_path / f"{part}.conll", [[("Ada", "S-PER")], [("1", "S-NUM")]])
    with pytest.raises(ValueError, match=rf"{part}.conll, .*line 3.*'S-NUM'"):
        train(corpus, tmp_path)
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_files_in_latin_1_with_illegal_transitions(tmp_path, capsys):
    text = "-DOCSTART-\tO\n\nSan Jos\xe9\tS-LOC\nAda\tE-PER\n"
    (tmp_path / "a.tsv").write_bytes(text.encode("latin-1"))
    (tmp_path / "more.txt").write_bytes("caf\xe9\n".encode("latin-1"))
    files = "--train", str(tmp_path / "a.tsv"), "--unlabeled", str(tmp_path / "more.txt")
    more = "--smoothing", "0.1", "--separator", "tab"
    with pytest.raises(ValueError, match="line 3: .* Set --encoding to"):
        train(files, tmp_path, *more)
    run = train(files, tmp_path, *more, "--encoding", "latin-1")
    assert (run / "vocabulary.txt").read_text("utf-8").split("\n")[3:-1] == ["Ada", "San Jos\xe9"]
    warning = "Warning: --train has 1 transitions that are illegal in 'bmes', in 1 of 1 sentences."
    assert warning in capsys.readouterr().out


def test_text_without_tokens(corpus, tmp_path):
    (tmp_path / "blank.txt").write_text("\n \n")
    with pytest.raises(ValueError, match=r"no tokens in .*blank.txt"):
        train(corpus, tmp_path, "--unlabeled", str(tmp_path / "blank.txt"))


def test_a_folder_in_use(corpus, tmp_path):
    run_folder.RunFolder.create(tmp_path / "run", "train-hmm", {})
    with pytest.raises(ValueError, match="already contains a run"):
        train(corpus, tmp_path, "--smoothing", "1")


@pytest.mark.slow
def test_the_goal_on_resume_ner(tfreps_data, tmp_path):
    """Smoothing tuned on validation data: at least .9255 over tokens and .8736 over entities."""
    folder = tfreps_data / "resume_ner"
    if not folder.is_dir():
        pytest.skip(f"needs {folder}")
    names = {"train": "train", "validation": "dev", "test": "test"}.items()
    files = [[f"--{part}", str(folder / f"{name}.char.bmes")] for part, name in names]
    found = results(train(sum(files, []), tmp_path))["test"]
    assert round(found["weighted"]["f1"], 4) >= 0.9255
    assert round(found["spans"]["micro"]["f1"], 4) >= 0.8736


@pytest.mark.slow
def test_a_run_with_another_vocabulary_is_neither_asked_nor_exported(
    short_grid, corpus, tmp_path, capsys
):
    run = train(corpus, tmp_path)
    path = run / "vocabulary.txt"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:-2], lines[-1], lines[-2]]))  # equal lines and bytes
    capsys.readouterr()
    for line in (["tag", str(run)], ["export", str(run), "--output", str(tmp_path / "export")]):
        assert main(line) == 2
        assert f"{path} is not the file that the run was created with" in capsys.readouterr().err
    assert not (tmp_path / "export").exists()
