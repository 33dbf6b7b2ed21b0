"""File formats of records. Beam's workers run these files without an installation of tfreps."""
