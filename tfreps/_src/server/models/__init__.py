"""Versions of models: finding, checking, loading, warming up and replacing them."""

__all__: list[str] = []  # tfreps.server exports the public names
