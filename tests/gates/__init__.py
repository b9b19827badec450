"""Runs what `make lint`, `make molecule`, `make docs` and `make test` consist of."""

from __future__ import annotations
