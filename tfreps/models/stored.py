"""model_files: the only import from `tfreps.models` of a package above it."""


def model_files():
    """Returns the module `tfreps.runs.model_files`, which reads and writes the files of models."""
    from tfreps.runs import model_files

    return model_files
