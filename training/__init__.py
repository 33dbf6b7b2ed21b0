"""Commands that build corpora and vocabularies, and train, evaluate and apply models."""
