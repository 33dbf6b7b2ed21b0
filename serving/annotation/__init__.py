"""Annotates a corpus of any size on Apache Beam with an exported SavedModel."""
