"""Callbacks for Keras's `fit`: logs, checkpoints, best model, learning rate, averages."""
