"""BERT's tokenizers, in Python and inside a TensorFlow graph."""
