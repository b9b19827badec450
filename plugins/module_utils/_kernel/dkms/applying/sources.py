# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Puts sources in place, and takes them away."""

from __future__ import annotations

import contextlib
import json
import os
import shutil

from ...._converge.files import replace_file
from ... import places
from ...applying.sources import write_files
from ...observing import tree
from ...observing.sources import Files
from ..steps import PutSource, RemoveSource
from .durable import synchronize


def put_source(step: PutSource, files: Files) -> None:
    """Write a source beside its place, whole, and exchange it. What was built of the former one is noted as stale."""
    new, old = places.staged_source(step.name, step.version), places.replaced_source(step.name, step.version)
    place = places.source(step.name, step.version)
    for each in (new, old):
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(each)
    write_files(new, files)
    synchronize(new)
    stale = tree.built_kernels(step.name, step.version)
    os.makedirs(places.STATE, mode=0o755, exist_ok=True)
    record = {"name": step.name, "version": step.version, "source": step.digest, "stale": stale}
    replace_file(places.record(step.name, step.version), json.dumps(record))
    if os.path.lexists(place):
        os.rename(place, old)
    os.rename(new, place)
    shutil.rmtree(old, ignore_errors=True)


def remove_source(step: RemoveSource) -> None:
    """Remove a source; the record goes last, so that a run that is cut off is continued."""
    for path in (places.source(step.name, step.version), places.replaced_source(step.name, step.version)):
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(path)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(places.record(step.name, step.version))
