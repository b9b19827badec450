# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What iptables-restore reads, and what iptables-save prints of it. Pure."""

from __future__ import annotations

import re
import typing as t

from ..docker_user import BRIDGES, ENTRY, USER, UserChains, bridge_rules, is_ours, policy_of
from ..model import Around, Rule, UserRules
from ..ruleset import DOCKER, comment
from .iptables_text import Saved, Table, parse_save

TABLE = "filter"
#: Each reads one text of one table, and carries it out as a whole or not at all.
RESTORE = {4: ("iptables-restore", "--wait", "--noflush"), 6: ("ip6tables-restore", "--wait", "--noflush")}
_HEAD = "# Written by baremetal.fabric.docker_firewall; changes are overwritten."
#: What is loaded where nothing of ours shall be.
NOTHING = f"{_HEAD}\n*{TABLE}\nCOMMIT\n"

_COMMENT = re.compile(r'--comment "(?P<words>[^"]*)"')
_BRIDGE = re.compile(rf"^-A {BRIDGES} -i (?P<name>\S+) ", re.MULTILINE)
#: The variants differ: "Error occurred at line: 7" of the parser, "line 7: RULE_APPEND failed" of the kernel.
_LINE = re.compile(r"line:? (?P<number>\d+)")
_JUMP = f"-j {ENTRY}"


def kept(chains: UserChains) -> str:
    """Return our chains alone, as they are kept; :func:`transaction` makes of it what is loaded."""
    lines = [_HEAD, f"*{TABLE}", *(f":{name} - [0:0]" for name, _rules in chains)]
    lines += [_line(name, rule) for name, rules in chains for rule in rules]
    return "\n".join((*lines, "COMMIT", ""))


def _line(chain: str, rule: Rule) -> str:
    # Matches come before the target, and -g is one.
    matches, target = re.split(r"(?=-[jg] )", rule.text, maxsplit=1)
    return f'-A {chain} {matches}-m comment --comment "{comment(rule)}" {target}'


def as_kept(saved: Saved) -> str:
    """Return our chains as a family has them, as :func:`kept` does."""
    chains = {name: chain for name, chain in saved.tables.get(TABLE, {}).items() if is_ours(name)}
    lines = [_HEAD, f"*{TABLE}", *(f":{name} - [0:0]" for name in chains)]
    lines += [f"-A {name} {rule.text}" for name, chain in chains.items() for rule in chain.rules]
    return "\n".join((*lines, "COMMIT", ""))


def with_bridges(text: str, around: Around) -> str:
    """Return what is kept with the rules of other bridges. Text that holds no such chain stays what it is."""
    lines = text.splitlines()
    if f":{BRIDGES} - [0:0]" not in lines:
        return text
    others = [line for line in lines if not line.startswith(f"-A {BRIDGES} ") and line != "COMMIT"]
    return "\n".join((*others, *(_line(BRIDGES, rule) for rule in bridge_rules(around)), "COMMIT", ""))


def bridges_of(text: str) -> Around:
    """Return the bridges that a text of rules follows; empty when it follows none."""
    found = frozenset(match["name"] for match in _BRIDGE.finditer(text))
    return {DOCKER: found} if found else {}


def rules_of(saved: Saved) -> UserRules | None:
    """Return our chains of a family, None when there is nothing of ours."""
    table = saved.tables.get(TABLE, {})
    own = {name: chain.rules for name, chain in table.items() if is_ours(name)}
    chains = {name: tuple(_comment(rule.text) for rule in rules) for name, rules in own.items()}
    jumps = jumps_of(table)
    return UserRules(chains, jumps) if chains or jumps else None


def jumps_of(table: Table) -> tuple[int, ...]:
    """Return the numbers of the rules in DOCKER-USER that lead to our chains."""
    chain = table.get(USER)
    return tuple(number for number, rule in enumerate(chain.rules if chain else (), 1) if rule.text == _JUMP)


def _comment(text: str) -> str:
    match = _COMMENT.search(text)
    return match["words"] if match else f"rule of somebody: {text}"


def expected(text: str) -> UserRules | None:
    """Return what :func:`rules_of` finds once a kept text is loaded."""
    chains = rules_of(parse_save(text))
    return None if chains is None else UserRules(chains.chains, (1,))


def transaction(text: str, saved: Saved, move: bool = True) -> str:
    """Return what brings a family from ``saved`` to exactly our chains of ``text``, with the jump first, at once.

    Without ``move`` a jump that is there stays at its place. Nothing else in the table is named, but for a
    DOCKER-USER that is missing, or that is empty, of no use to anybody and left over.
    """
    table = saved.tables.get(TABLE, {})
    lines = text.splitlines()
    wanted = [line for line in lines if line.startswith(":")]
    rules = [line for line in lines if line.startswith("-A ")]
    names = {line[1:].split()[0] for line in wanted}
    stale = sorted(name for name in table if is_ours(name) and name not in names)
    jumps = jumps_of(table)
    result = [_HEAD, f"*{TABLE}"]
    if names and USER not in table:
        result.append(f":{USER} - [0:0]")
    result += [*wanted, *(f":{name} - [0:0]" for name in stale)]
    stays = names and (jumps == (1,) or (len(jumps) == 1 and not move))
    if not stays:
        result += [f"-D {USER} {_JUMP}"] * len(jumps)
        result += [f"-I {USER} 1 {_JUMP}"] if names else []
    result += [*rules, *(f"-X {name}" for name in stale)]
    if not names and _left_over(table):
        result.append(f"-X {USER}")
    return "\n".join((*result, "COMMIT", ""))


def _left_over(table: Table) -> bool:
    """Whether DOCKER-USER would be an empty chain that nothing leads to: Docker's own is in FORWARD."""
    chain = table.get(USER)
    if chain is None or any(rule.text != _JUMP for rule in chain.rules):
        return False
    return not any(rule.target == USER for each in table.values() for rule in each.rules)


def blamed(message: str, text: str) -> str:
    """Return what iptables-restore said of a text, in one sentence, with the policy that the line came from."""
    match, lines = _LINE.search(message), text.splitlines()
    words = " ".join(_said(message))
    if match is None or not 0 < int(match["number"]) <= len(lines):
        return words
    line = lines[int(match["number"]) - 1]
    owner = policy_of(_comment(line))
    return f"{f'policy {owner!r}, ' if owner else ''}line {match['number']} ({line[:200]}): {words}"


def _said(message: str) -> t.Iterator[str]:
    for line in message.splitlines():
        if line.strip() and not line.startswith(("Try `", "Error occurred")):
            yield re.sub(r"^ip6?tables-restore( v\S+)?( \(\w+\))?: ?", "", line).strip()
