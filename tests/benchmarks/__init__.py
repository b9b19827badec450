"""Benchmarks: side by side with doing the same by hand, on the same host, in the same run. Never part of the tests."""

from __future__ import annotations
