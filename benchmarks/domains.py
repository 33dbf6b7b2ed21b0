"""The domains of fdu_mtl that have a test set here, and the files of all sixteen."""

import pathlib

DOMAINS = (
    *("apparel", "baby", "books", "camera_photo", "dvd", "electronics"),
    *("health_personal_care", "kitchen_housewares"),
)


def encoding_of(domain):
    """Of a domain's files: two of the sixteen are no UTF-8.

    Example:
    >>> encoding_of("dvd"), encoding_of("baby")
    ('latin-1', 'utf-8')
    """
    return "latin-1" if domain in ("MR", "dvd") else "utf-8"


def train_files(data):
    """Domain -> file of its training set, all sixteen."""
    files = sorted(pathlib.Path(data, "fdu_mtl").glob("*.task.train"))
    return {path.name.split(".")[0]: path for path in files}
