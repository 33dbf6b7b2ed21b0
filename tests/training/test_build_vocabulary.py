import gzip
import shlex
import subprocess
import sys

import pytest

from tfreps.data import count_corpus
from tfreps.text import CharacterTokenizer, Vocabulary
from tfreps.training import build_vocabulary


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "1.txt").write_text("b a b\n\nthe the the <UNK>\n", encoding="utf-8")
    (tmp_path / "2.txt.gz").write_bytes(gzip.compress("the é\na\n".encode()))
    return tmp_path


def build(corpus, *options):
    output = corpus / "vocabulary.txt"
    files = str(corpus / "*.txt*")
    assert build_vocabulary.main([files, "--output", str(output), *options]) == 0
    vocabulary = Vocabulary.read(output)
    output.unlink()
    return vocabulary.tokens


def test_falling_counts(corpus, capsys):
    specials = ["<S>", "</S>", "<UNK>"]
    assert build(corpus) == [*specials, "the", "a", "b", "é"]
    printed = capsys.readouterr().out
    assert "7 tokens, out of 5 distinct" in printed
    assert "10 tokens, 90.00% of them" in printed and "Next: tfreps pretrain-elmo" in printed
    assert build(corpus, "--min-count", "2") == [*specials, "the", "a", "b"]
    assert build(corpus, "--max-vocabulary", "5") == [*specials, "the", "a"]


def test_next_command_reads_a_path_with_a_space(corpus, capsys):
    output = corpus / "my vocabulary.txt"
    assert build_vocabulary.main([str(corpus / "1.txt"), "--output", str(output)]) == 0
    command = shlex.split(capsys.readouterr().out.partition("Next: ")[2])
    assert command[:4] == ["tfreps", "pretrain-elmo", "--vocabulary", str(output)]


@pytest.mark.parametrize(
    "data, message",
    [
        (b"a\n<S> b </S>\n", "text.txt, line 2: the token '<S>'"),
        (b"a\nb\xe9\n", "text.txt, line 2: expected UTF-8"),
        (b"a\nb\x00\n", "text.txt, line 2: .* binary"),
        (b"\n \n", "no token"),
    ],
)
def test_bad_text_writes_nothing(tmp_path, data, message):
    path = tmp_path / "text.txt"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=message):
        build_vocabulary.main([str(path), "--output", str(tmp_path / "vocabulary.txt")])
    assert list(tmp_path.iterdir()) == [path]


def test_bad_options(tmp_path, corpus):
    files = str(corpus / "1.txt")
    for options, message in (
        ([files, "--min-count", "0"], "--min-count must be at least 1"),
        ([files, "--max-vocabulary", "3"], "--max-vocabulary must be at least 4"),
        ([str(tmp_path / "none.txt")], "matches no file"),
    ):
        with pytest.raises(ValueError, match=message):
            build_vocabulary.main([*options, "--output", str(tmp_path / "v.txt")])
    with pytest.raises(SystemExit) as stop:
        build_vocabulary.main([files])
    assert stop.value.code == 2


def test_options_from_a_file(corpus):
    config = corpus / "options.json"
    config.write_text('{"min_count": 9}')
    message = "--min-count must be at most ., the count of the most frequent token '.*'; got 9"
    with pytest.raises(ValueError, match=message):
        build(corpus, "--config", str(config))
    assert list(corpus.glob("v*")) == []
    assert len(build(corpus, "--config", str(config), "--min-count", "2")) == 6


def test_unknown_tokens_as_evaluation_counts_them(corpus, capsys):
    output = corpus / "v.txt"
    files = [str(corpus / "1.txt"), str(corpus / "2.txt.gz")]
    assert build_vocabulary.main([*files, "--output", str(output), "--max-vocabulary", "5"]) == 0
    counts = count_corpus(files, Vocabulary.read(output))
    share = 100 - 100 * counts.unknown_tokens / counts.tokens
    assert f"{counts.tokens} tokens, {share:.2f}%" in capsys.readouterr().out


def characters(corpus, output, *options):
    path = corpus / output
    line = [
        str(corpus / "*.txt*"),
        "--tokens",
        "bert-characters",
        "--output",
        str(path),
        "--overwrite",
    ]
    assert build_vocabulary.main([*line, *options]) == 0
    return path


def test_characters_of_a_bert(tmp_path, capsys):
    (tmp_path / "1.txt").write_text("房间 Wifi 3.5\n\n很好 wifi\n", encoding="utf-8")
    (tmp_path / "2.txt.gz").write_bytes(gzip.compress("好 12 x".encode()))
    tokens = ["wifi", "好", "x", "很", "房", "间"]
    read = CharacterTokenizer.from_dictionary(characters(tmp_path, "d.json"))
    assert read.vocabulary[20:] == tokens
    printed = capsys.readouterr().out
    assert "26 ids, 6 of them for tokens, out of 7 distinct tokens" in printed
    assert "10 tokens, 100.00% of them" in printed and "Next: tfreps pretrain-bert" in printed
    path = characters(tmp_path, "d.vocabulary", "--min-count", "2")
    assert CharacterTokenizer.from_vocabulary_file(path).vocabulary[20:] == tokens[:2]
    read = CharacterTokenizer.from_dictionary(
        characters(tmp_path, "d.json", "--max-vocabulary", "21")
    )
    assert read.vocabulary[20:] == tokens[:1]
    read = CharacterTokenizer.from_dictionary(characters(tmp_path, "d.json", "--cased"))
    assert "Wifi" in read.vocabulary


def test_bad_options_of_characters(tmp_path, corpus):
    with pytest.raises(ValueError, match="--max-vocabulary must be greater than 20"):
        characters(corpus, "d.json", "--max-vocabulary", "20")
    with pytest.raises(ValueError, match="--cased has no effect with --tokens spaces; it applies"):
        build(corpus, "--cased")
    (tmp_path / "blank").write_text(" \n")
    line = [str(tmp_path / "blank"), "--tokens", "bert-characters", "--output"]
    with pytest.raises(ValueError, match="FILE must contain text; found no tokens in"):
        build_vocabulary.main([*line, str(tmp_path / "d.json")])


def test_needs_no_tensorflow():
    code = "import sys, training.build_vocabulary; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
