"""Configuration of the documentation site for Sphinx: `make docs` builds it."""

import os
import pathlib
import sys

import yaml

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE / "_ext")]  # the checkout, and the extensions below
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tfreps  # noqa: E402

project = "tfreps"
author = "The tfreps authors"
copyright = "2026, the tfreps authors"
version = release = tfreps.__version__
# The only place with the address of the repository.
repository = yaml.safe_load((HERE.parent / "CITATION.cff").read_text())["repository-code"]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
    "architectures",  # this and the following are files of _ext/
    "floors",
    "docstrings",
    "linked_names",
    "chinese_lines",
    "page_code",
    "command_pages",
    "name_pages",
    "file_pages",
]
exclude_patterns = ["_build"]
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

# HTML.
html_theme = "pydata_sphinx_theme"
html_title = "tfreps"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": [], "install": [], "limits": [], "cite": []}
html_theme_options = {
    "logo": {"text": "tfreps"},
    "external_links": [{"name": "Repository", "url": repository}],
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
