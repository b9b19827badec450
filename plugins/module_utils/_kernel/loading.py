# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""How modules are loaded: files below /etc, and parameters of the running kernel. Pure."""

from __future__ import annotations

import typing as t

from .._converge.converge import Refusal
from .._converge.plan import Argv
from . import places
from .model import Loading

SHEBANG = "#!/bin/sh\n"
HEADER = "# Written by baremetal.fabric; changes are lost.\n"
_YES, _NO = {"1", "y", "yes", "true", "on"}, {"0", "n", "no", "false", "off"}


def is_ours(text: str) -> bool:
    """Whether a file was written by us."""
    return text.startswith((HEADER, SHEBANG + HEADER))


def load_file(module: str, loading: Loading) -> str | None:
    """Return what modules-load.d(5) has for a module; None for no file."""
    return f"{HEADER}{module}\n" if loading.persist else None


def options_file(module: str, loading: Loading) -> str | None:
    """Return what modprobe.d(5) has for a module; None for no file."""
    if not loading.parameters:
        return None
    words = " ".join(f"{key}={_quoted(value)}" for key, value in sorted(loading.parameters.items()))
    return f"{HEADER}options {module} {words}\n"


def loading_files(name: str, module: str, loading: Loading) -> dict[str, str | None]:
    """Return what files have a module loaded, by path; none when nothing is said of it, and None for no file."""
    if not (loading.now or loading.persist or loading.parameters):
        return {}
    return {places.options(name): options_file(module, loading), places.loading(name): load_file(module, loading)}


def load_commands(module: str, parameters: t.Iterable[tuple[str, str]], again: bool) -> tuple[Argv, ...]:
    """Return what loads a module; ``again`` when another build, or one with other parameters, is to go first."""
    load: Argv = ("modprobe", module, *(f"{key}={value}" for key, value in parameters))
    return (("modprobe", "-r", module), load) if again else (load,)


def with_file(files: t.Mapping[str, str], path: str, content: str | None) -> dict[str, str]:
    """Return ``files`` with one that is written, or removed."""
    others = {each: text for each, text in files.items() if each != path}
    return others if content is None else {**others, path: content}


def is_due(path: str, there: str | None, content: str | None) -> bool:
    """Whether a file has to be written, or removed. Raises :class:`Refusal` when it is somebody else's."""
    if there == content or (content is None and there is not None and not is_ours(there)):
        return False
    if there is not None and not is_ours(there):
        raise Refusal(f"{path} was written by somebody else and says something else; move it away.")
    return True


def _quoted(value: str) -> str:
    return f'"{value}"' if not value or " " in value or "\t" in value else value


def differing(wanted: t.Mapping[str, str], shown: t.Mapping[str, str]) -> tuple[str, ...]:
    """Return the parameters that the running kernel shows with another value; those that it hides are believed."""
    return tuple(key for key, value in sorted(wanted.items()) if key in shown and not _is_same(value, shown[key]))


def _is_same(wanted: str, shown: str) -> bool:
    if wanted == shown:
        return True
    if shown in ("Y", "N"):
        return wanted.lower() in (_YES if shown == "Y" else _NO)
    try:
        return int(wanted, 0) == int(shown, 0)
    except ValueError:
        return False
