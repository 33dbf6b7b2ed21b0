from tfreps import reports


def test_span_table():
    report = reports.span_report([["B", "O"]], [["B", "I"]], "bio", mode="conlleval")
    assert reports.format_report(report).splitlines() == [
        "       precision   recall       f1  support",
        "_         0.0000   0.0000   0.0000        1",
        "micro     0.0000   0.0000   0.0000        1",
        "macro     0.0000   0.0000   0.0000        1",
    ]


def test_label_table():
    report = reports.classification_report(["a", "b", "b"], ["a", "b", "a"])
    assert reports.format_report(report).splitlines() == [
        "          precision   recall       f1  support",
        "a            0.5000   1.0000   0.6667        1",
        "b            1.0000   0.5000   0.6667        2",
        "macro        0.7500   0.7500   0.6667        3",
        "weighted     0.8333   0.6667   0.6667        3",
        "accuracy     0.6667",
    ]


def test_confusion_table():
    counts = reports.confusion_counts(["a", "long"] * 6, ["a"] * 12, ["a", "long"])
    assert reports.format_confusion(counts, ["a", "long"]).splitlines() == [
        "      a  long",
        "a     6     0",
        "long  6     0",
    ]
