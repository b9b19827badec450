"""Builds the documentation of plugins, roles and guides as HTML."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

from . import snapshot
from .part import CACHE, ROOT, Part

BUILD = CACHE / "docs"


def build() -> list[Sequence[Part]]:
    """Return the two steps: pages from the documentation in the code, then HTML from all pages."""
    tree, dependencies = CACHE / "docs-tree", CACHE / "docs-dependencies"
    snapshot.refresh(ROOT, tree)
    env = snapshot.collections_environment(tree, snapshot.link_dependencies(ROOT, dependencies))
    pages, html = BUILD / "pages", BUILD / "html"
    # antsibull-docs wants an empty directory, and a page of a plugin that was removed must not survive.
    shutil.rmtree(pages, ignore_errors=True)
    pages.mkdir(parents=True)
    generate = ["antsibull-docs", "collection", "--use-current", "--squash-hierarchy", "--fail-on-error"]
    sphinx = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-c", str(ROOT / "docs"), "-b", "html"]
    return [
        [
            Part("pages", [*generate, "--dest-dir", str(pages), "baremetal.fabric"], env=env),
            Part("html", [*sphinx, str(pages), str(html)]),
        ]
    ]
