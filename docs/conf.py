"""How Sphinx builds these pages: Markdown by MyST, dressed by Furo, no network."""

import tomllib
from pathlib import Path

_pyproject = Path(__file__).parent.parent / "pyproject.toml"

project = "Sluice"
author = "The Sluice authors"
release = tomllib.loads(_pyproject.read_text("utf-8"))["project"]["version"]

extensions = ["myst_parser"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"Sluice {release}"
html_copy_source = False
