"""Seeded hostile input for every file format and every port."""
