"""Programs that make things: corpora, vocabularies, trained models, measurements."""
