"""Exports of a decoder: a small graph from the scores of tags to tags and spans."""
