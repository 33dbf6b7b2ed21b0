"""Plots as Matplotlib figures, PNG files and TensorBoard images. Requires matplotlib."""

from tfreps._src.plots import (
    Fonts,
    attention_figure,
    chosen_attention,
    fonts_for,
    learning_curves_figure,
    matrix_figure,
    new_figure,
    plot_confusion_matrix,
    plot_mix_weights,
    plot_run,
    png_of,
    position_curves_figure,
    position_map_figure,
    position_surface_figure,
    save_figure,
    show_in_tensorboard,
)

__all__ = [
    "Fonts",
    "attention_figure",
    "chosen_attention",
    "plot_confusion_matrix",
    "plot_run",
    "fonts_for",
    "learning_curves_figure",
    "matrix_figure",
    "plot_mix_weights",
    "new_figure",
    "png_of",
    "position_curves_figure",
    "position_map_figure",
    "position_surface_figure",
    "save_figure",
    "show_in_tensorboard",
]
