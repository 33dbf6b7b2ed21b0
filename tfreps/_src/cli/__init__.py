"""Command line: tables of options, their checks, and terminal input and output."""
