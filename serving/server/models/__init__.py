"""Versions of models: finding, checking, loading, warming up and replacing them."""
