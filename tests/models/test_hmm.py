import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from docs.by_hand import crf, hmm
from tests.closeness import assert_close
from tfreps import tags as tag_sequences
from tfreps._src.models.hmm_counts import HMMCounts
from tfreps.data import read_tagged
from tfreps.models import HMMTagger

eager = pytest.mark.usefixtures("eager_if_quick")

TAGS = ["O", "B", "I"]
SIZE, UNKNOWN = 7, 3


def random_sentences(number, longest=6, seed=0, low=1):
    rng = np.random.default_rng(seed)
    return [rng.integers(low, SIZE + 1, n).tolist() for n in rng.integers(0, longest, number)]


def tagged_sentences(number=40):
    """Returns sentences whose tokens depend on their tags."""
    rng = np.random.default_rng(5)
    tokens = random_sentences(number)
    return tokens, [[(t + int(rng.integers(2))) % 3 for t in one] for one in tokens]


def learned(smoothing=0.1, **options):
    model = HMMTagger(SIZE, TAGS, unknown_id=UNKNOWN, **options)
    model.fit_counts(*tagged_sentences(), smoothing)
    return model


def tables(model):
    """Returns probabilities in float64, as in docs/by_hand/hmm.py: pi, A, B `[K, V + 1]`, end."""
    end = model.log_end.numpy() if model.use_end else np.zeros(len(model.tags))
    logs = model.log_initial.numpy(), model.log_transitions.numpy(), model.log_emissions.numpy().T
    return [np.exp(np.float64(log)) for log in (*logs, end)]


def all_paths(model, sentence):
    """Computes p(tokens, tags) of every sequence of tags."""
    return hmm.all_joints(sentence, *tables(model))


@eager
@pytest.mark.few(1)
@pytest.mark.parametrize("options", [{}, {"use_end": True, "unknown": "hapax"}])
def test_all_paths_enumerated(options):
    model = learned(**options)
    sentences = [[1, 2, 3, 4], [5], [3, 3, 7]]
    padded = keras.utils.pad_sequences(sentences, padding="post")
    out = model(padded)
    tags, score = model.decode(out)
    several, scores = model.decode(out, k=4)
    marginals = model.marginals(out).numpy()
    for row, sentence in enumerate(sentences):
        paths, length = all_paths(model, sentence), len(sentence)
        ranked = sorted(paths, key=paths.get, reverse=True)
        total = sum(paths.values())
        assert_close(out["log_likelihood"][row], np.log(total))
        assert tuple(tags.numpy()[row, :length]) == ranked[0]
        assert_close(score[row], np.log(paths[ranked[0]]))
        found = [tuple(path) for path in several.numpy()[row, :, :length]][: len(paths)]
        assert_close([paths[path] for path in found], [paths[path] for path in ranked[:4]])
        assert len(set(found)) == len(found)
        assert_close(scores[row][: len(found)], np.log([paths[path] for path in found]))
        for position, tag in itertools.product(range(length), range(3)):
            expected = sum(p for path, p in paths.items() if path[position] == tag) / total
            assert_close(marginals[row, position, tag], expected)
    assert not marginals[1, 1:].any() and not tags.numpy()[1, 1:].any()


@eager
def test_the_worked_example_of_the_article():
    """A, B and pi of a classic example; the best path for observations 0, 1, 0 is 2, 2, 2."""
    model = HMMTagger(2, ["1", "2", "3"], unknown_id=2)
    model.log_initial.assign(np.log([0.2, 0.4, 0.4]))
    model.log_transitions.assign(np.log([[0.5, 0.2, 0.3], [0.3, 0.5, 0.2], [0.2, 0.3, 0.5]]))
    emissions = np.log([[1, 1, 1], [0.5, 0.4, 0.7], [0.5, 0.6, 0.3]])
    model.log_emissions.assign(emissions)
    tags, score = model.decode(model(np.array([[1, 2, 1]])))
    assert tags.numpy().tolist() == [[2, 2, 2]]
    assert_close(np.exp(score), [0.0147])


@eager
def test_empty_sentences_and_single_tokens():
    model = learned(use_end=True)
    out = model(np.array([[0, 0], [2, 0]]))
    assert out["log_likelihood"][0] == 0 and np.isfinite(out["log_likelihood"][1])
    tags, score = model.decode(out)
    assert tags.numpy()[0].tolist() == [0, 0] and score[0] == 0
    assert [len(one) for one in model.decode_sentences([[], [2]])] == [0, 1]
    assert model(np.zeros([2, 0], "int32"))["log_likelihood"].numpy().tolist() == [0, 0]


@eager
def test_a_mask_of_its_own_may_have_holes():
    model = learned()
    mask = [[True, False, True, True]]
    holes = model({"token_ids": np.array([[1, 5, 2, 4]]), "mask": tf.constant(mask)})
    plain = model(np.array([[1, 2, 4]]))
    assert_close(holes["log_likelihood"], plain["log_likelihood"])
    expected = model.decode(plain)[0].numpy()[0]
    assert model.decode(holes)[0].numpy()[0].tolist() == [expected[0], 0, *expected[1:]]


def test_unknown_tokens_say_nothing_or_what_hapaxes_say():
    uniform, hapax = (HMMTagger(4, TAGS, unknown=how) for how in ("uniform", "hapax"))
    for model in (uniform, hapax):
        model.fit_counts([[1, 1, 2, 4, 4]], [[0, 0, 1, 2, 2]], smoothing=0.5)
    assert_close(np.exp(uniform.log_emissions[3]), 1 / 3)
    known = np.exp(uniform.log_emissions)[[1, 2, 4]].sum(0)
    assert_close(known, 1)  # no probability is reserved for others
    assert_close(np.exp(hapax.log_emissions)[1:].sum(0), 1)
    assert_close(np.exp(hapax.log_emissions[3]), [0.5 / 4, 1.5 / 4, 0.5 / 4])


@pytest.mark.slow
def test_predict_gives_tags_and_their_posteriors():
    model = learned()
    ids = np.array([[1, 2, 4], [5, 0, 0]])
    found = model.predict(ids, verbose=0)
    for name, array in model.tag({"token_ids": ids}).items():
        assert_close(found[name], array)
    out = model(ids)
    marginals = model.marginals(out).numpy()
    assert found["tags"].tolist() == model.decode(out)[0].numpy().tolist()
    expected = np.take_along_axis(marginals, found["tags"][..., None], 2)[..., 0]
    assert_close(found["confidences"], expected)
    assert found["mask"].tolist() == [[True] * 3, [True, False, False]]


def penalized(model, sentences, counts, weight, k):
    """Returns the log likelihood of sentences, plus that of the counts with smoothing `k`."""
    total = sum(np.log(sum(all_paths(model, one).values())) for one in sentences if one)
    logs = [np.log(table) for table in tables(model)]
    tables_of_counts = counts.initial, counts.transitions, counts.emissions.T, counts.end
    known = [i for i in range(1, SIZE + 1) if i != UNKNOWN]
    columns = [slice(None), slice(None), known, slice(None)]
    for table, log, chosen in zip(tables_of_counts, logs, columns, strict=True):
        if table is not counts.end or model.use_end:
            total += ((weight * table[..., chosen] + k) * log[..., chosen]).sum()
    return total


@pytest.mark.slow
@pytest.mark.parametrize("use_end", [False, True])
def test_baum_welch_never_lowers_the_likelihood(use_end):
    model = learned(smoothing=0.5, use_end=use_end)
    sentences = random_sentences(60, seed=9)
    seen = []
    found = model.baum_welch(sentences, 8, progress=lambda step, value: seen.append(value))
    assert len(found) == 9 and seen == found[1:]
    assert (np.diff(found) > -1e-3).all() and found[-1] > found[0] + 5
    probabilities = tables(model)
    following = probabilities[1].sum(1) + (probabilities[3] if use_end else 0)
    assert_close(following, 1)
    assert_close(probabilities[0].sum(), 1)


@pytest.mark.slow
def test_baum_welch_from_equal_tags():
    """Two kinds of tokens alternate, so that two tags predict each token with probability 1/2."""
    sentences = [[1, 3, 2, 4], [2, 4, 1, 3], [1, 4, 2, 3], [2, 3, 1, 4]] * 3
    model = HMMTagger(4, ["a", "b"], unknown_id=4, unknown="hapax")
    with pytest.raises(ValueError, match="All tags .* have the same probabilities, .* a `seed`"):
        model.baum_welch(sentences, 3)
    likelihoods = model.baum_welch(sentences, 60, seed=1)
    assert likelihoods[-1] == pytest.approx(12 * 4 * np.log(0.5), rel=1e-3)
    assert len({tuple(tags) for tags in model.decode_sentences(sentences)}) == 1
    assert likelihoods == model.baum_welch(sentences, 60, seed=1)


def test_baum_welch_likelihood_is_that_of_all_paths():
    model = learned(use_end=True)
    sentences = random_sentences(15, seed=2)
    expected = sum(np.log(sum(all_paths(model, one).values())) for one in sentences if one)
    assert_close(model.baum_welch(sentences, 0), [expected])


def test_one_step_by_enumeration():
    """Compares the expected counts with an enumeration of all paths."""
    model = learned(unknown="hapax", use_end=True)
    sentences = random_sentences(20, longest=5, seed=4)
    expected = np.zeros(3), np.zeros([3, 3]), np.zeros([SIZE + 1, 3]), np.zeros(3)
    for sentence in filter(None, sentences):
        paths = all_paths(model, sentence)
        total = sum(paths.values())
        for path, p in paths.items():
            expected[0][path[0]] += p / total
            expected[3][path[-1]] += p / total
            np.add.at(expected[1], (path[:-1], path[1:]), p / total)
            np.add.at(expected[2], (sentence, path), p / total)
    model.baum_welch(sentences, 1, smoothing=0.3)
    logs = HMMCounts(*expected).log_tables(0.3, use_end=True)
    for name, table in zip(
        ("initial", "transitions", "emissions", "end"), tables(model), strict=True
    ):
        assert_close(table, np.exp(logs[name].T if name == "emissions" else logs[name]))


def test_tagged_counts_stay_in_baum_welch():
    model = HMMTagger(SIZE, TAGS, unknown_id=UNKNOWN, use_end=True)
    counts = model.fit_counts(*tagged_sentences(), smoothing=0.2)
    sentences = random_sentences(30, longest=5, seed=9)
    values = [penalized(model, sentences, counts, 0.5, 0.2)]
    for _ in range(4):
        model.baum_welch(sentences, 1, counts, counts_weight=0.5, smoothing=0.2)
        values.append(penalized(model, sentences, counts, 0.5, 0.2))
    assert (np.diff(values) > -1e-3).all() and values[-1] > values[0]


@eager
def test_a_tag_that_is_never_followed():
    model = HMMTagger(3, ["x", "."])
    model.fit_counts([[1, 2], [1, 1, 2]], [[0, 1], [0, 0, 1]], smoothing=0)
    assert model.decode_sentences([[1, 2], [1, 2, 1]])[0].tolist() == [0, 1]


@eager
def test_one_tag():
    model = HMMTagger(3, ["x"])
    model.fit_counts([[1, 2]], [[0, 0]])
    assert model.decode_sentences([[1, 3, 2]])[0].tolist() == [0, 0, 0]


def test_a_tag_without_tokens():
    with pytest.raises(ValueError, match="must occur in the training text, but .*: I. Remove"):
        HMMTagger(4, TAGS).fit_counts([[1, 2]], [[0, 1]])


def test_counts_of_another_model():
    counts = HMMTagger(4, ["x"]).fit_counts([[1]], [[0]])
    with pytest.raises(ValueError, match="must have 5 tokens and 1 tags; got 4 and 1"):
        HMMTagger(5, ["x"]).set_counts(counts)


def test_nothing_to_learn_from():
    with pytest.raises(ValueError, match="must contain at least one token"):
        learned().baum_welch([[]], 1)
    with pytest.raises(ValueError, match="`token_ids` must contain .* from 1 to 7; .* contains 8"):
        learned().decode_sentences([[1], [8]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Token ids must lie in 0..7"):
        learned()(np.array([[1, 8]]))


@pytest.mark.parametrize(
    "kwargs, message",
    [
        ({"vocabulary_size": 0}, "at least 1"),
        ({"tags": []}, "distinct, non-empty strings"),
        ({"tags": ["a", "a"]}, "distinct, non-empty strings"),
        ({"unknown_id": 8}, r"1 to `vocabulary_size` \(7\); got 8"),
        ({"unknown": "none"}, "must be one of"),
        ({"scheme": "bmes"}, "must match `scheme`"),
        ({"scheme": "foo"}, "`scheme` must be one of"),
    ],
)
def test_bad_options(kwargs, message):
    with pytest.raises(ValueError, match=message):
        HMMTagger(**{"vocabulary_size": SIZE, "tags": TAGS, **kwargs})


def weighted_token_scores(gold, predicted):
    """Computes precision, recall and F1 as luopeixiang's program does."""
    gold, predicted = np.array(gold), np.array(predicted)
    scores, weights = [], []
    for tag in np.unique(gold):
        right = ((gold == tag) & (predicted == tag)).sum()
        precision, recall = right / (predicted == tag).sum(), right / (gold == tag).sum()
        f1 = 2 * precision * recall / (precision + recall + 1e-10)
        scores.append([precision, recall, f1])
        weights.append((gold == tag).sum())
    return np.average(scores, axis=0, weights=weights)


def span_f1(gold, predicted):
    gold, predicted = (
        {(n, *span) for n, one in enumerate(each) for span in tag_sequences.spans(one, "bmes")}
        for each in (gold, predicted)
    )
    return 2 * len(gold & predicted) / (len(gold) + len(predicted))


def test_probabilities_of_another_program():
    """The best sequence and its probability are those of the product, over all sequences."""
    rng = np.random.default_rng(0)
    initial, end = np.log(rng.dirichlet(np.ones(4))), np.log([1e-9, 1e-9, 0.5, 0.5])
    transitions, emissions = (np.log(rng.dirichlet(np.ones(4), n)) for n in (4, 6))
    transitions[0, 0] = initial[1] = -np.inf
    model = HMMTagger(6, ["B", "M", "E", "S"], "bmes", use_end=True)
    model.set_log_probabilities(initial, transitions, emissions, end)
    ids = np.array([3, 6, 1, 2])
    paths = crf.all_scores(emissions[ids - 1], transitions, initial, end)
    best = max(paths, key=paths.get)
    tags, score = model.decode(ids[None])
    assert tags.numpy().tolist() == [list(best)]
    assert_close(score[0], paths[best])
    with pytest.raises(ValueError, match="`end` must be given if `use_end` is True"):
        model.set_log_probabilities(initial, transitions, emissions)
    with pytest.raises(ValueError, match=r"`emissions` must have the shape \(6, 4\)"):
        model.set_log_probabilities(initial, transitions, emissions[1:], end)
    with pytest.raises(ValueError, match="`initial` must .* below infinity"):
        model.set_log_probabilities([np.nan] * 4, transitions, emissions, end)


@pytest.mark.slow
def test_the_published_figures(tfreps_data):
    """resume_ner: luopeixiang's README to the last digit, and the results with smoothing."""
    folder = tfreps_data / "resume_ner"
    if not folder.is_dir():
        pytest.skip(f"needs {folder}")
    train, test = (read_tagged(folder / f"{part}.char.bmes") for part in ("train", "test"))
    names = sorted({tag for sentence in train for tag in sentence.tags})
    tokens = ["<S>", "</S>", "<UNK>", *sorted({t for s in train for t in s.tokens})]
    token_ids = {token: line for line, token in enumerate(tokens, 1)}
    ids = [[[token_ids.get(t, 3) for t in s.tokens] for s in part] for part in (train, test)]
    model = HMMTagger(len(tokens), names, "bmes")
    counts = model.fit_counts(ids[0], [[names.index(t) for t in s.tags] for s in train])
    gold = [sentence.tags for sentence in test]

    def figures(model):
        found = [[names[tag] for tag in tags] for tags in model.decode_sentences(ids[1])]
        scores = weighted_token_scores(sum(gold, []), sum(found, []))
        return [f"{score:.4f}" for score in (*scores, span_f1(gold, found))]

    model.set_counts(counts, floor=1e-10)
    assert figures(model) == ["0.9149", "0.9122", "0.9130", "0.8365"]
    model.set_counts(counts, floor=1e-8)
    assert figures(model) == ["0.9165", "0.9138", "0.9146", "0.8397"]
    model.set_counts(counts, smoothing=0.1)
    assert figures(model) == ["0.9290", "0.9240", "0.9255", "0.8736"]
    # The article's rule for sentences of one token changes nothing here, as there are none.
    assert min(len(sentence.tokens) for sentence in train) > 1
