"""Versions of models: found, checked, loaded, warmed up, replaced."""
