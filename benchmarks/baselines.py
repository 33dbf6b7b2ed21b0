"""Measures baselines of text classification: naive Bayes and logistic regression.

    python -m benchmarks.baselines fdu_mtl --data PATH/TO/data
    python -m benchmarks.baselines fdu_mtl --together --data PATH/TO/data
    python -m benchmarks.baselines hotel_reviews --data PATH/TO/data
    python -m benchmarks.baselines chnsenticorp --data PATH/TO/data
    python -m benchmarks.baselines mr --data PATH/TO/data

The models are those of scikit-learn, which `make install` installs, on n-grams (TF-IDF for logistic
regression). For fdu_mtl, the n-grams have 1 or 2 words, and one model is trained for each of the
eight domains with a test set or, with --together, on all sixteen training sets. The accuracies on
the eight test sets are averaged. For mr, they are the same and measured on the validation data.
For hotel_reviews and chnsenticorp, the n-grams have 1 to 3 characters (1 or 2 for naive Bayes). For
chnsenticorp, they are measured on a tenth of the training data, as `tfreps train-classifier` holds
it out with --seed 0, 1 and 2.
"""

import json

from benchmarks.domains import DOMAINS, encoding_of, train_files
from benchmarks.runner import parse
from tfreps.data import read_labeled, stratified_split
from tfreps.reports import auc

# The texts are tokenized: words are separated by spaces.
WORDS = {"tokenizer": str.split, "token_pattern": None, "ngram_range": (1, 2)}
# Cuts of naive Bayes and of logistic regression.
CHARACTERS = [{"analyzer": "char", "ngram_range": (1, most)} for most in (2, 3)]


def main(argv=None):
    tables = {table.__name__: table for table in (fdu_mtl, hotel_reviews, chnsenticorp, mr)}
    options = parse(
        argv,
        "benchmarks.baselines",
        __doc__,
        table={"choices": tables, "help": "Data set to measure the baselines on."},
        data=(..., "Folder of the data sets."),
        together=(False, "Train one model for all domains of fdu_mtl."),
    )
    print(json.dumps(tables[options.table](options.data, options.together), indent=1))
    return 0


def fdu_mtl(data, together):
    """Returns the accuracies of both baselines by domain, and their mean."""
    trains = {
        domain: texts_and_labels(path, "tab", encoding_of(domain))
        for domain, path in train_files(data).items()
    }
    results = {}
    for name, model in baselines(WORDS, WORDS).items():
        if together:
            model.fit(*(sum((part[i] for part in trains.values()), []) for i in (0, 1)))
        for domain in DOMAINS:
            if not together:
                model.fit(*trains[domain])
            path = f"{data}/fdu_mtl/{domain}.task.test"
            test = texts_and_labels(path, "tab", encoding_of(domain))
            results.setdefault(name, {})[domain] = measure(model, test)["accuracy"]
        results[name]["mean"] = round(sum(results[name].values()) / len(DOMAINS), 4)
    return results


def hotel_reviews(data, together):
    """Returns the accuracy and the AUC of both baselines."""
    train, test = (
        texts_and_labels(f"{data}/hotel_reviews/{part}_sentiment.txt", "python", "utf-8")
        for part in ("train", "test")
    )
    return {
        name: measure(model.fit(*train), test) for name, model in baselines(*CHARACTERS).items()
    }


def chnsenticorp(data, together):
    """Returns the accuracies of both baselines on the texts held out by each seed, and the mean."""
    columns = {"first_row": "data", "text_field": "0", "label_field": "1"}
    texts, labels = texts_and_labels(f"{data}/chnsenticorp/train.tsv", "tsv", "utf-8", **columns)
    results = {}
    for seed in range(3):
        parts = stratified_split(labels, 0.1, seed, singletons="keep")
        train, held_out = (([texts[i] for i in part], [labels[i] for i in part]) for part in parts)
        for name, model in baselines(*CHARACTERS).items():
            accuracy = measure(model.fit(*train), held_out)["accuracy"]
            results.setdefault(name, {})[f"seed {seed}"] = accuracy
    for accuracies in results.values():
        accuracies["mean"] = round(sum(accuracies.values()) / len(accuracies), 4)
    return results


def mr(data, together):
    """Returns the accuracy and the AUC of both baselines on the validation data."""
    train, dev = (
        texts_and_labels(f"{data}/mr/{part}.tsv", "tab", "utf-8") for part in ("train", "dev")
    )
    return {
        name: measure(model.fit(*train), dev) for name, model in baselines(WORDS, WORDS).items()
    }


def texts_and_labels(path, form, encoding, **columns):
    examples = read_labeled(path, form, encoding=encoding, empty_texts="keep", **columns)
    return [example.text for example in examples], [example.label for example in examples]


def baselines(bayes_cut, regression_cut):
    """Returns untrained pipelines by name."""
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    regression = LogisticRegression(C=10.0, max_iter=2000)
    return {
        "naive Bayes": make_pipeline(CountVectorizer(binary=True, **bayes_cut), MultinomialNB()),
        "logistic regression": make_pipeline(
            TfidfVectorizer(sublinear_tf=True, min_df=2, **regression_cut), regression
        ),
    }


def measure(model, test):
    texts, labels = test
    scores = model.predict_proba(texts)
    names = list(model.classes_)
    right = [names[row.argmax()] == label for row, label in zip(scores, labels, strict=True)]
    positive = [label == names[1] for label in labels]
    return {
        "accuracy": round(sum(right) / len(right), 4),
        "auc": round(auc(positive, scores[:, 1].tolist()), 4),
    }


if __name__ == "__main__":
    raise SystemExit(main())
