"""Configuration of the documentation site for Sphinx: `make docs` builds it."""

import logging
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE / "_ext")]  # the checkout, and the extensions below
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# The code of several pages runs in one process: see also gallery_order.reset.
logging.getLogger("tensorflow").setLevel(logging.ERROR)

import tfreps  # noqa: E402

project = "tfreps"
author = "The tfreps authors"
copyright = "2026, the tfreps authors"
version = release = tfreps.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "sphinx_design",
    "architectures",  # the rest are files of _ext/
    "docstrings",
    "linked_names",
    "page_code",
    "command_pages",
    "name_pages",
    "file_pages",
]
exclude_patterns = ["_build", "guides/*.py", "guides/*.rst", "**/README.rst"]
exclude_patterns += ["auto_guides/**/*.py", "auto_guides/**/*.ipynb", "auto_guides/*.md5"]
exclude_patterns += ["auto_guides/*.codeobj.json", "sg_execution_times.rst"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
nitpicky = True
default_role = "code"
highlight_language = "python"
smartquotes = False  # they turn the dashes of flags into en dashes
show_warning_types = True

# MyST: Markdown pages.
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# autodoc: docstrings, converted by _ext/docstrings.py.
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88

# Each guide is a file that runs unchanged, a page and a notebook.
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
sphinx_gallery_conf = {
    "examples_dirs": "guides",
    "gallery_dirs": "auto_guides",
    "filename_pattern": r"plot_",
    "within_subsection_order": "gallery_order.GuideOrder",
    "reset_modules": ("matplotlib", "gallery_order.reset"),
    "min_reported_time": 1,
    "show_memory": False,
    "remove_config_comments": True,
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
    "plot_gallery": "True",
    "parallel": 2,  # number of processes, each of which runs some of the guides
    "show_signature": False,
    "write_computation_times": False,
    "image_srcset": ["2x"],
    "line_numbers": False,
}

# HTML.
html_theme = "pydata_sphinx_theme"
html_title = "tfreps"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": [], "install": [], "limits": []}
html_theme_options = {
    "logo": {"text": "tfreps"},
    "navbar_end": ["theme-switcher"],
    # Pages with code of two libraries side by side need the width.
    "secondary_sidebar_items": {"coming_from/*": [], "[!c]*": ["page-toc"]},
    "show_nav_level": 1,
    "navigation_depth": 3,
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "use_edit_page_button": False,
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_remove_prompts = True
