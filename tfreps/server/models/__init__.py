"""Versions of models: found, checked, loaded, warmed up, replaced."""

__all__: list[str] = []  # tfreps.server exports what users need
