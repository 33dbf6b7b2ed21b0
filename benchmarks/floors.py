"""The floors that neural classifiers have to beat: naive Bayes and logistic regression.

    python -m benchmarks.floors fdu_mtl --data PATH/TO/data
    python -m benchmarks.floors hotel_reviews --data PATH/TO/data

scikit-learn's, on TF-IDF n-grams: words 1 to 2 for the reviews of fdu_mtl (eight domains, each
trained and tested by itself, accuracies averaged), characters 1 to 3 for hotel_reviews (1 to 2
under naive Bayes). Needs scikit-learn, which `make install` brings.
"""

import argparse
import json

from benchmarks.domains import DOMAINS, encoding_of
from tfreps.data import read_labelled
from tfreps.reports import auc


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.floors", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("table", choices=["fdu_mtl", "hotel_reviews"])
    parser.add_argument("--data", required=True, help="folder with the data sets")
    options = parser.parse_args(argv)
    results = fdu_mtl(options.data) if options.table == "fdu_mtl" else hotel_reviews(options.data)
    print(json.dumps(results, indent=1))
    return 0


def fdu_mtl(data):
    """Accuracies of both floors: by domain, and their mean."""
    results = {}
    for domain in DOMAINS:
        train, test = (
            texts_and_labels(f"{data}/fdu_mtl/{domain}.task.{part}", "tab", encoding_of(domain))
            for part in ("train", "test")
        )
        # The texts are tokenised: what stands between blanks is a word.
        cut = {"tokenizer": str.split, "token_pattern": None, "ngram_range": (1, 2)}
        for name, floor in floors(cut, cut).items():
            accuracy = measure(floor, train, test)["accuracy"]
            results.setdefault(name, {})[domain] = round(accuracy, 4)
    for accuracies in results.values():
        accuracies["mean"] = round(sum(accuracies.values()) / len(DOMAINS), 4)
    return results


def hotel_reviews(data):
    """Accuracy and AUC of both floors."""
    train, test = (
        texts_and_labels(f"{data}/hotel_reviews/{part}_sentiment.txt", "json", "utf-8")
        for part in ("train", "test")
    )
    cuts = ({"analyzer": "char", "ngram_range": (1, most)} for most in (2, 3))
    return {name: measure(floor, train, test) for name, floor in floors(*cuts).items()}


def texts_and_labels(path, form, encoding):
    examples = read_labelled(path, form, encoding=encoding, empty_texts="keep")
    return [example.text for example in examples], [example.label for example in examples]


def floors(bayes_cut, regression_cut):
    """Untrained pipelines by name."""
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


def measure(floor, train, test):
    floor.fit(*train)
    texts, labels = test
    scores = floor.predict_proba(texts)
    names = list(floor.classes_)
    right = [names[row.argmax()] == label for row, label in zip(scores, labels, strict=True)]
    positive = [label == names[1] for label in labels]
    return {
        "accuracy": round(sum(right) / len(right), 4),
        "auc": round(auc(positive, scores[:, 1].tolist()), 4),
    }


if __name__ == "__main__":
    raise SystemExit(main())
