"""Plots as Matplotlib figures, PNG files and TensorBoard images. Requires matplotlib."""
