"""Lists the domains of fdu_mtl that have a test set, and the training files of all domains."""

import pathlib

DOMAINS = (
    *("apparel", "baby", "books", "camera_photo", "dvd", "electronics"),
    *("health_personal_care", "kitchen_housewares"),
)


def encoding_of(domain):
    """Returns the encoding of the files of a domain; two of the sixteen are not UTF-8."""
    return "latin-1" if domain in ("MR", "dvd") else "utf-8"


def train_files(data):
    """Returns a dict from each of the sixteen domains to the file of its training set."""
    files = sorted(pathlib.Path(data, "fdu_mtl").glob("*.task.train"))
    return {path.name.split(".")[0]: path for path in files}
