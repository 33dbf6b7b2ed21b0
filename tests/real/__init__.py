"""Tests on real weights, which `make test-real` installs."""
