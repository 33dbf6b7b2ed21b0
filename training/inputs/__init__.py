"""Inputs and encoders of taggers and classifiers, as the options of a command describe them."""
