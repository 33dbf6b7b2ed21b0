"""Plots as Matplotlib figures, PNG files and TensorBoard images. Requires matplotlib."""

from tfreps._src.plots.attention_maps import attention_figure, select_attention
from tfreps._src.plots.canvas import figure_to_png, new_figure, save_figure, show_in_tensorboard
from tfreps._src.plots.curves import learning_curves_figure
from tfreps._src.plots.fonts import Fonts, find_fonts
from tfreps._src.plots.matrices import matrix_figure, plot_confusion_matrix, plot_mix_weights
from tfreps._src.plots.position_maps import (
    position_curves_figure,
    position_map_figure,
    position_surface_figure,
)
from tfreps._src.plots.run_plots import plot_run

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
