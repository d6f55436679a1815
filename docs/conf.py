"""How the site is built: `sphinx-build -W -b html docs docs/_build/html`. Nothing is fetched from elsewhere."""

import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # examples are small: threads of BLAS would wait for each other
HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import reference
from sphinx.util.inspect import TypeAliasForwardRef
from sphinx_gallery.sorting import FileNameSortKey

import timesurf

reference.write(HERE)

project = "timesurf"
author = "The timesurf contributors"
copyright = f"{author}, BSD-3-Clause"
release = version = timesurf.__version__

extensions = [
    "mathml",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_ext", "_templates", "gallery", "examples/**/*.ipynb", "examples/**/*.py"]
templates_path = ["_templates"]
nitpicky = False  # types of other projects have no page here
highlight_language = "none"  # a command in a page is not Python
default_role = "py:obj"  # `Network` in a docstring is a link where there is a page for it

# Markdown
myst_enable_extensions = ["dollarmath", "deflist", "attrs_inline"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]  # the gallery's settings hold a class

# The reference
autosummary_generate = True
autosummary_imported_members = False
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_default_options = {  # scikit-learn makes these methods; its docstrings refer to its own pages
    "exclude-members": ", ".join(f"set_{m}_request" for m in ("fit", "partial_fit", "predict", "score", "transform")),
}
autodoc_type_aliases = {
    name: name
    for name in ("Array", "Axes", "Engine", "Figure", "Kernel", "Layer", "PerLayer", "Place", "Start", "Time")
}
TypeAliasForwardRef.__repr__ = lambda self: self.name  # inside unions Sphinx would print its own class instead
python_maximum_signature_line_length = 90
python_use_unqualified_type_names = True
add_module_names = False
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False  # automodule lists them already
numpydoc_class_members_toctree = False

# The gallery: scripts that run while the site is built
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "within_subsection_order": FileNameSortKey,
    "filename_pattern": r"/plot_",
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 0.1,
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "plot_gallery": True,
}

# The pages
html_theme = "pydata_sphinx_theme"
html_title = "timesurf"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["timesurf.css"]
html_sidebars = {"index": [], "start": [], "tutorial": [], "idea": []}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "timesurf"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "navigation_depth": 3,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "primary_sidebar_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
