from benchmarks import wikitext2
from tfreps.text import Vocabulary


def test_splits_the_text_as_bilm_tf_was_given_it(tmp_path):
    text = "".join(f" w{i} <unk> the \n \n" for i in range(20))
    source = tmp_path / "valid.txt"
    source.write_text(text, encoding="utf-8")
    wikitext2.write_texts(source, tmp_path)
    train = (tmp_path / "train.txt").read_text(encoding="utf-8").splitlines()
    test = (tmp_path / "test.txt").read_text(encoding="utf-8").splitlines()
    assert train == [f"w{i} <UNK> the" for i in range(18)]
    assert test == ["w18 <UNK> the", "w19 <UNK> the"]
    vocabulary = Vocabulary.read(tmp_path / "vocabulary.txt")
    assert vocabulary.tokens[:4] == ["<S>", "</S>", "<UNK>", "the"]
    assert len(vocabulary) == 3 + 1 + 18


def test_trains_at_the_settings_that_bilm_tf_had():
    given = dict(zip(wikitext2.TRAIN[::2], wikitext2.TRAIN[1::2], strict=True))
    assert given == {
        "--filters": "[[1,32],[2,32],[3,64],[4,128],[5,256]]",
        "--num-highways": "1",
        "--units": "512",
        "--projection-dim": "128",
        "--dropout": "0.1",
        "--batch-size": "32",
        "--unroll-steps": "20",
        "--num-sampled": "2048",
        "--epochs": "6",
        "--reset-probability": "0",  # it has none
    }
