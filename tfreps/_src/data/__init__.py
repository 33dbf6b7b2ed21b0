"""Reads text files into `tf.data.Dataset`s."""
