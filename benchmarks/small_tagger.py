"""Exports a small untrained tagger, which is as fast as a trained one."""

TAGS = [f"TAG{number}" for number in range(9)]


def write_tagger(folder, units=64, tags=TAGS):
    """Exports a BiLSTM with a CRF as version 1; returns the folder."""
    from tfreps.export import open_for_export, write_export
    from tfreps.inference import TextTagger
    from tfreps.models import BiLSTMEncoder, Tagger, TokenEmbedder
    from tfreps.text import TokenIndexer

    indexer = TokenIndexer.from_sentences(["The small river left its old bank .".split()])
    embedder = TokenEmbedder(vocabulary_size=indexer.vocabulary_size, embedding_dim=100)
    model = Tagger(BiLSTMEncoder(embedder, units), tags)
    write_export(open_for_export(TextTagger(model, indexer)), folder)
    return folder
