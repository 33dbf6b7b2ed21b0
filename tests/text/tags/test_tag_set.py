import numpy as np
import pytest

from tfreps.tags import TagSet


def write(folder, data):
    path = folder / "tags.txt"
    path.write_bytes(data)
    return path


def test_order_depends_on_the_set_of_tags_alone():
    tags = ["B-B", "E-A", "O", "S-A", "B-A", "I-A", "E-B"]
    expected = ["O", "B-A", "I-A", "E-A", "S-A", "B-B", "E-B"]
    assert TagSet.from_sequences([tags, tags[::-1]], "bioes").names == expected
    assert TagSet.from_sequences([tags[::-1], []], "bioes").names == expected
    assert TagSet.from_sequences([["VB", "NN", "O"]]).names == ["O", "NN", "VB"]


def test_ids_and_back():
    tags = TagSet(["O", "B-X", "I-X"], "bio")
    assert tags.encode(["I-X", "O"]) == [2, 0] and tags.decode(np.array([2, 0])) == ["I-X", "O"]
    assert len(tags) == 3 and "B-X" in tags and "B-Y" not in tags
    assert tags.allowed_transitions().shape == (5, 5)
    with pytest.raises(ValueError, match="`ids` must be ids of tags, from 0 to 2; got 3"):
        tags.decode([3])
    with pytest.raises(ValueError, match="`ids` must be ids of tags, .*; got -1"):
        tags.decode([-1])


def test_write_then_read(tmp_path):
    names, path = ["O", "B-機構", "I-機構"], tmp_path / "tags.txt"
    TagSet(names, "bio").write(path)
    assert path.read_bytes() == "O\nB-機構\nI-機構\n".encode()
    assert TagSet.read(path, "bio").names == names
    assert [p.name for p in tmp_path.iterdir()] == ["tags.txt"]


def test_failed_write_leaves_the_old_file(tmp_path):
    path = write(tmp_path, b"old")
    with pytest.raises(ValueError):
        TagSet(["\ud800"]).write(path)  # cannot be encoded
    assert path.read_bytes() == b"old" and len(list(tmp_path.iterdir())) == 1


def test_labels_may_hold_spaces(tmp_path):
    path = write(tmp_path, b"very good\r\nbad")
    assert TagSet.read(path, word="label").names == ["very good", "bad"]


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "tags.txt: found no tags"),
        (b"O\n\nB-X\n", "line 2: a tag must not be blank; got ''"),
        (b"O\nB-X\nO\n", "line 3: 'O' is already on line 1"),
        (b"O\n B-X\n", "line 2: a tag must not start or end with white space"),
        (b"O\nB-X\nX\n", "tags.txt, line 3: the tag 'X' is not valid in the scheme 'bio'"),
        (b"O\nB-\xe9\n", "line 2: expected UTF-8 text"),
    ],
)
def test_bad_files(tmp_path, data, message):
    with pytest.raises(ValueError, match=message):
        TagSet.read(write(tmp_path, data), "bio")


def test_unreadable(tmp_path):
    with pytest.raises(ValueError, match="Cannot read the tags .*none.txt: No such file"):
        TagSet.read(tmp_path / "none.txt")


def test_names_that_are_none():
    with pytest.raises(ValueError, match="line 1: expected a str; got 3"):
        TagSet([3])
    with pytest.raises(ValueError, match="`scheme` must be one of"):
        TagSet(["O"], "iob2")
    with pytest.raises(ValueError, match="train.txt: found no labels. Expected at least one"):
        TagSet.from_sequences([], source="train.txt", word="label")
    with pytest.raises(ValueError, match="^train.txt: the tag 'X' is not valid in the scheme"):
        TagSet.from_sequences([["O", "B-X"], ["X"]], "bio", "train.txt")
    with pytest.raises(ValueError, match="^train.txt: expected a str; got 3"):
        TagSet.from_sequences([["O", 3]], source="train.txt")


def test_a_new_tag_names_file_and_line():
    tags = TagSet(["O", "B-X"], "bio", source="tags.txt")
    message = (
        r"dev.txt, line 12: the tag 'B-Y' is not one of the 2 tags that the model knows \(O, B-X\)"
    )
    with pytest.raises(ValueError, match=message):
        tags.encode(["O", "B-Y"], "dev.txt", [11, 12])
    with pytest.raises(ValueError, match="dev.json, line 4, token 2: the tag 'B-Y'.* train on"):
        tags.encode(["O", "B-Y"], "dev.json", 4)
    labels = TagSet(["good", "bad"], source="labels.txt", word="label")
    with pytest.raises(ValueError, match="dev.tsv, line 4: the label 'so' is not one of the 2"):
        labels.encode(["so"], "dev.tsv", 4)
    with pytest.raises(ValueError, match="^labels, line 4: the label 'so' is not one of the 2"):
        labels.encode(["so"], line=4)


def test_sets_of_possible_tags():
    tags = TagSet(["O", "B-X", "I-X"], "bio")
    found = tags.encode_partial(["I-X|O", "_", "B-X"])
    assert found.dtype == bool
    assert found.tolist() == [[True, False, True], [True] * 3, [False, True, False]]
    assert tags.encode_partial([]).shape == (0, 3)
    with pytest.raises(ValueError, match="a.conll, line 4, token 2: the tag 'B-Y' is not one of"):
        tags.encode_partial(["O", "B-X|B-Y"], "a.conll", 4)
    with pytest.raises(ValueError, match="a.conll, line 8: the tag '' is not one of the 3"):
        tags.encode_partial(["O", "B-X|"], "a.conll", [7, 8])


def test_strings_are_no_lists_of_tags():
    tags = TagSet(["O", "B-X"], "bio")
    with pytest.raises(ValueError, match="`names` must be a list of tags; got the string 'O'"):
        tags.encode("O")
    message = "Each of `sequences` must be a list of labels; got the string 'good'"
    with pytest.raises(ValueError, match=message):
        TagSet.from_sequences(["good"], word="label")


def test_iteration_is_over_the_names():
    assert list(TagSet(["O", "B-X"], "bio")) == ["O", "B-X"]
