"""Options and the log of the commands that serve models."""
