# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What ``nft --json list table`` prints (libnftables-json(5)), read into a :class:`Table`. Pure."""

from __future__ import annotations

import json
import typing as t

from ..._converge.converge import ObservationFailed
from ..model import Chain, NamedSet, Table


def parse_table(text: str) -> Table:
    """Return the table of a listing. Raises :class:`ObservationFailed` for what is no listing of a table."""
    try:
        objects = json.loads(text)["nftables"]
        return _table(objects)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ObservationFailed(f"nft's listing was not understood ({error!r}): {text[:500]}") from error


def parse_names(text: str) -> frozenset[str]:
    """Return the names of a listing of tables. Raises :class:`ObservationFailed` for what is none."""
    try:
        return frozenset(each["table"]["name"] for each in json.loads(text)["nftables"] if "table" in each)
    except (ValueError, KeyError, TypeError) as error:
        raise ObservationFailed(f"nft's listing was not understood ({error!r}): {text[:500]}") from error


def _table(objects: t.Iterable[t.Mapping[str, t.Any]]) -> Table:
    hooks: dict[str, str] = {}
    rules: dict[str, list[str]] = {}
    sets: dict[str, NamedSet] = {}
    for each in objects:
        ((kind, value),) = each.items()
        if kind == "chain":
            hooks[value["name"]] = _hook(value)
        elif kind == "rule":
            rules.setdefault(value["chain"], []).append(_rule(value))
        elif kind in ("set", "map"):
            sets[value["name"]] = _set(value)
        elif kind not in ("metainfo", "table"):
            sets[f"{kind} {value.get('name', '')}"] = NamedSet(f"{kind} {value.get('name', '')}", "?")
    chains = {name: Chain(name, hook, tuple(rules.get(name, ()))) for name, hook in hooks.items()}
    return Table(chains, sets)


def _rule(value: t.Mapping[str, t.Any]) -> str:
    if "comment" not in value:
        return f"rule {value['handle']} of somebody"
    for expression in value["expr"]:
        match = expression.get("match") or {}
        # A control group that is gone has no path any more, only the number that it had.
        if (match.get("left") or {}).get("socket") and str(match["right"]).isdigit():
            return f"{value['comment']} of a group that is gone"
    return str(value["comment"])


def _hook(chain: t.Mapping[str, t.Any]) -> str:
    if "hook" not in chain:
        return ""
    return f"{chain['type']} {chain['hook']} {chain['prio']} {chain['policy']}"


def _set(value: t.Mapping[str, t.Any]) -> NamedSet:
    key = value["type"]
    data = value.get("map", "")
    elements = value.get("elem", ())
    return NamedSet(
        name=value["name"],
        key=" . ".join(key) if isinstance(key, list) else key,
        interval="interval" in value.get("flags", ()),
        data=data,
        elements=frozenset(map(_mapping if data else _element, elements)),
    )


def _mapping(pair: t.Any) -> str:
    key, verdict = pair
    ((word, target),) = verdict.items()
    return f"{_element(key)} : {word}" + (f" {target['target']}" if target else "")


def _element(value: t.Any) -> str:
    if isinstance(value, dict):
        ((kind, content),) = value.items()
        if kind == "prefix":
            return f"{content['addr']}/{content['len']}"
        if kind == "range":
            return f"{_element(content[0])}-{_element(content[1])}"
        if kind == "concat":
            return " . ".join(_element(part) for part in content)
        if kind == "elem":  # with a counter, a timeout or a comment
            return _element(content["val"])
    return str(value)
