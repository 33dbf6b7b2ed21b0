"""Tags of tokens: schemes, spans, conversion, validation and ids."""
