# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs guarded_config, and hands it the contents of files in a form that is in no log."""

from __future__ import annotations

import json
import typing as t

from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.plugins.action import ActionBase

from ansible_collections.baremetal.fabric.plugins.module_utils._config.contents import encoded

MODULE = "baremetal.fabric.guarded_config"


class ActionModule(ActionBase):
    """Reads files of the controller, and encodes all contents."""

    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Return what the module returned."""
        super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        files = arguments.get("files")
        if isinstance(files, list):
            arguments["files"] = [sent(each, self._read) if isinstance(each, dict) else each for each in files]
        result: dict[str, t.Any] = self._execute_module(module_name=MODULE, module_args=arguments, task_vars=task_vars)
        return result

    def _read(self, name: str) -> bytes:
        try:
            path = self._loader.get_real_file(self._needle(name), decrypt=True)
        except AnsibleError as error:
            raise AnsibleActionFail(f"{name} was not found on the controller: {error}") from error
        try:
            with open(path, "rb") as file:
                return file.read()
        finally:
            self._loader.cleanup_tmp_file(path)

    def _needle(self, name: str) -> str:
        found: str = self._find_needle("files", name)  # type: ignore[no-untyped-call]
        return found


def sent(given: dict[str, t.Any], read: t.Callable[[str], bytes]) -> dict[str, t.Any]:
    """Return the options of one file as the module gets them; ``read`` reads a file of the controller."""
    file = dict(given)
    if file.get("content") is not None:
        content = file["content"]
        # Ansible makes data of a template's text that looks like JSON (as the copy module knows, too).
        text = json.dumps(content) if isinstance(content, (dict, list)) else str(content)
        file["content"] = encoded(text.encode("utf-8", "surrogateescape"))
    elif file.get("src") and not _truth(file.get("remote_src")):
        file["content"] = encoded(read(str(file.pop("src"))))
    return file


def _truth(value: t.Any) -> bool:
    return str(value).lower() in ("true", "yes", "on", "1")
