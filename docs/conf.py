"""Sphinx configuration. Building and reading the pages needs no network."""

import sys
from pathlib import Path

import covshift

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "covshift"
author = "The covshift developers"
copyright = "2026, the covshift developers"
version = release = covshift.__version__

extensions = [
    "api_pages",
    "command_pages",
    "docstrings",
    "equations",
    "myst_parser",
    "notebooks",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["_build", "_templates", "reproduction"]
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_mock_imports = ["torch"]  # the pages are built without it
autodoc_default_options = {
    # Written by scikit-learn, with links into its own documentation.
    "exclude-members": "set_fit_request, set_partial_fit_request, set_predict_request, "
    "set_score_request, set_split_request",
}
# Attributes that several answers have are no reference to one of them.
suppress_warnings = ["ref.python"]
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_param = False  # types are words, not links
napoleon_use_rtype = False
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = "covshift"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_extra_path = ["_extra"]  # llms.txt, at the root
html_css_files = ["equations.css", "site.css"]
html_js_files = ["site.js"]
html_sidebars = {"**": ["site-nav"]}
html_show_sourcelink = False
html_theme_options = {
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "search_bar_text": "Search",
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
}

# Examples: run when the pages are built, with a picture and a notebook to download. API pages
# link those that use a name by ``.. minigallery:: covshift.VSVR``.
extensions.append("sphinx_gallery.gen_gallery")
exclude_patterns.append("gallery/backreferences")
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("covshift",),
    "filename_pattern": "plot_",
    "subsection_order": [
        f"../examples/gallery/{name}"
        for name in ("diagnose", "estimate", "evaluate", "predict", "correct")
    ],
    "within_subsection_order": "FileNameSortKey",
    "image_srcset": ["2x"],
    "show_memory": False,
    "show_signature": False,
    "abort_on_example_error": True,
}
