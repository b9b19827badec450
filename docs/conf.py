"""How Sphinx builds the pages that `make docs` collects."""

from __future__ import annotations

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

project = "baremetal.fabric"
project_copyright = "2026, the baremetal.fabric developers"
extensions = ["sphinx_antsibull_ext"]
html_theme = "alabaster"
html_theme_options = {"nosidebar": True, "page_width": "64em"}
html_title = project


def leave_foreign_labels(
    app: Sphinx, environment: BuildEnvironment, reference: pending_xref, text: nodes.TextElement
) -> nodes.TextElement | None:
    """Show references into Ansible's own documentation as plain text; a broken one into ours stays an error."""
    del app, environment
    ours = str(reference.get("reftarget", "")).startswith("ansible_collections.baremetal.fabric")
    return None if ours else text


def setup(app: Sphinx) -> None:
    app.connect("missing-reference", leave_foreign_labels)
