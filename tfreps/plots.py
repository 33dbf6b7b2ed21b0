"""Plots as Matplotlib figures, PNG files and TensorBoard images. Requires matplotlib."""

from tfreps._src.plots import (
    Fonts,
    attention_figure,
    figure_to_png,
    find_fonts,
    learning_curves_figure,
    matrix_figure,
    new_figure,
    plot_confusion_matrix,
    plot_mix_weights,
    plot_run,
    position_curves_figure,
    position_map_figure,
    position_surface_figure,
    save_figure,
    select_attention,
    show_in_tensorboard,
)

__all__ = [
    "Fonts",
    "attention_figure",
    "select_attention",
    "plot_confusion_matrix",
    "plot_run",
    "find_fonts",
    "learning_curves_figure",
    "matrix_figure",
    "plot_mix_weights",
    "new_figure",
    "figure_to_png",
    "position_curves_figure",
    "position_map_figure",
    "position_surface_figure",
    "save_figure",
    "show_in_tensorboard",
]
