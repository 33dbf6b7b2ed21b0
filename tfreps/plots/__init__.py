"""Plots as Matplotlib figures, PNG files and TensorBoard images. Requires matplotlib."""

from tfreps.plots.attention_maps import attention_figure, chosen_attention
from tfreps.plots.canvas import new_figure, png_of, save_figure, show_in_tensorboard
from tfreps.plots.curves import learning_curves_figure
from tfreps.plots.fonts import Fonts, fonts_for
from tfreps.plots.matrices import confusion_matrix, matrix_figure, mix_weights
from tfreps.plots.position_maps import position_curves, position_map, position_surface
from tfreps.plots.run_pictures import draw_run

__all__ = [
    "Fonts",
    "attention_figure",
    "chosen_attention",
    "confusion_matrix",
    "draw_run",
    "fonts_for",
    "learning_curves_figure",
    "matrix_figure",
    "mix_weights",
    "new_figure",
    "png_of",
    "position_curves",
    "position_map",
    "position_surface",
    "save_figure",
    "show_in_tensorboard",
]
