"""Commands that export, serve and query trained models."""
