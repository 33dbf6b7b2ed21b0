"""Optimizers and learning rate schedules that Keras does not have."""
