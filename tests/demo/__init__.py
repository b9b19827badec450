"""The demonstration: a storage pool grows disk by disk on a lab host of this machine."""

from __future__ import annotations
