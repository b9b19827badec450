# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs docker_firewall, and confirms its change over a new connection."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase

MODULE = "baremetal.fabric.docker_firewall"


class ActionModule(ActionBase):
    """With ``confirm_timeout`` the module runs twice: once to make the change, once to say that it was survived."""

    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Return what the module returned; of a change that is confirmed, with what the confirmation did."""
        super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        result: dict[str, t.Any] = self._execute_module(module_name=MODULE, module_args=arguments, task_vars=task_vars)
        token = waiting(result)
        if token is None or self._task.check_mode:
            return result
        try:
            # A connection that was there before passes whatever the policy is; only a new one proves anything.
            self._connection.reset()
            confirmed = self._execute_module(
                module_name=MODULE, module_args={**arguments, "confirm": token}, task_vars=task_vars
            )
        except AnsibleError as error:
            return {**result, "failed": True, "msg": lost(arguments.get("confirm_timeout"), str(error))}
        return joined(result, confirmed)


def waiting(result: t.Mapping[str, t.Any]) -> str | None:
    """Return the token of a change that waits for its confirmation."""
    unconfirmed = (result.get("firewall") or {}).get("unconfirmed")
    if result.get("failed") or not unconfirmed or unconfirmed["undone"]:
        return None
    return str(unconfirmed["token"])


def lost(seconds: t.Any, why: str) -> str:
    """Return what to tell when the host cannot be reached any more."""
    return (
        f"The host does not answer over a new connection, so it goes back to its former policy {seconds} s after the "
        f"change. Look at what the policies say of the controller's address and of the port of SSH. ({why})"
    )


def joined(made: t.Mapping[str, t.Any], confirmed: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return one result of both runs: what was before the first, and what is after the second."""
    result = {**made, **confirmed, "changed": bool(made.get("changed") or confirmed.get("changed"))}
    result["plan"] = [*made.get("plan", ()), *confirmed.get("plan", ())]
    result["warnings"] = [*made.get("warnings", ()), *confirmed.get("warnings", ())]
    if "diff" in made and "diff" in confirmed:
        result["diff"] = {"before": made["diff"]["before"], "after": confirmed["diff"]["after"]}
    return result
