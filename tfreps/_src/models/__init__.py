"""Models: complete networks built from layers."""
