"""Checks arguments, writes files atomically, and reads UTF-8, JSON, gzip and HDF5 files."""
