"""File formats of records. Beam's workers run these files without an installation of tfreps."""

__all__: list[str] = []  # internal: not part of the public API
