# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The difference between two states of a set, as people read it. Pure."""

from __future__ import annotations

import typing as t

from .model import Entry, Host, Live

_SOMEBODY = "as found, changed by somebody else"
_BINARY = "(not text, {} bytes, SHA-256 {})\n"


def _text(content: bytes | None, digest: str, secret: bool) -> str:
    if not digest:
        return ""
    if secret:
        return "(secret)\n"
    if content is None:
        return f"(SHA-256 {digest})\n"
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return _BINARY.format(len(content), digest)


def _header(path: str, file: Live | Entry | None, word: str = "") -> str:
    note = f" ({word})" if word else ""
    if file is None or not file.digest:
        return f"{path} (none)" if not word else f"{path}{note}"
    return f"{path} {file.uid}:{file.gid} {file.mode:04o}{note}"


def _secrets(host: Host) -> set[str]:
    return {entry.path for each in host.generations.values() for entry in each.entries if entry.secret}


def _pair(sides: t.Sequence[tuple[str, str]]) -> dict[str, str]:
    (before_header, before), (after_header, after) = sides
    return {"before_header": before_header, "before": before, "after_header": after_header, "after": after}


def difference(before: Host, after: Host, more: t.Mapping[str, bytes]) -> list[dict[str, str]]:
    """Return each file that changes, after those that somebody else had changed since they were verified.

    ``more`` has contents by digest besides those that ``before`` and ``after`` know.
    """
    contents = {**more, **before.contents, **after.contents}
    secrets = _secrets(before) | _secrets(after)
    return [*_drifted(before, contents, secrets), *_changed(before, after, contents, secrets)]


def _changed(
    before: Host, after: Host, contents: t.Mapping[str, bytes], secrets: t.Container[str]
) -> t.Iterator[dict[str, str]]:
    for path in sorted({*before.live, *after.live}):
        old, new = before.live.get(path, Live(path, path)), after.live.get(path, Live(path, path))
        if (old.digest, old.uid, old.gid, old.mode) == (new.digest, new.uid, new.gid, new.mode):
            continue
        secret = path in secrets
        texts = [_text(contents.get(each.digest), each.digest, secret) for each in (old, new)]
        if secret and old.digest != new.digest and all(texts):
            texts[1] = "(another secret)\n"
        yield _pair([(_header(path, old), texts[0]), (_header(path, new), texts[1])])


def _drifted(host: Host, contents: t.Mapping[str, bytes], secrets: t.Container[str]) -> t.Iterator[dict[str, str]]:
    current = host.generation(host.current)
    for path in host.drift:
        entry, live = current.entry(path), host.live[path]
        secret = path in secrets
        kept = "" if entry is None else _text(contents.get(entry.digest), entry.digest, secret)
        found = _text(contents.get(live.digest), live.digest, secret)
        if secret and entry is not None and entry.digest != live.digest:
            found = "(another secret)\n" if live.digest else ""
        yield _pair(
            [
                (_header(path, entry, f"as verified in set {current.number}"), kept),
                (
                    _header(path, live, _SOMEBODY if live.digest else "removed by somebody else"),
                    found,
                ),
            ],
        )
