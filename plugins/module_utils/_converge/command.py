# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Run commands on the managed host: argument vectors, the C locale, errors that quote the tool."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import typing as t

from .plan import Argv

#: The exit status of a command that was killed because its time was up, as of timeout(1).
TIMED_OUT = 124
#: In front of a command that is to end with the process that started it (setpriv(1), prctl(2)).
_TIED = ("setpriv", "--pdeathsig", "KILL")
#: Where administration tools live; a non-login shell often lacks the sbin folders.
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class CommandError(Exception):
    """A command failed or could not be started; the text quotes its exit status and its own words."""

    def __init__(self, argv: Argv, rc: int, stdout: str, stderr: str) -> None:
        self.argv = argv
        self.rc = rc
        self.stdout = stdout
        self.stderr = stderr
        words = (stderr.strip() or stdout.strip() or "it printed nothing")[-2000:]
        super().__init__("'{}' failed with exit status {}: {}".format(" ".join(argv), rc, words))


class MissingTool(Exception):
    """A program that the work needs is not installed."""

    def __init__(self, program: str, package: str) -> None:
        self.program = program
        self.package = package
        super().__init__(f"The program '{program}' was not found; install the package '{package}'.")


class Runner:
    """Runs commands one after the other.

    ``inherit`` lists file descriptors that child processes keep open: a lock held by a child outlives a
    killed module, so that the next run does not meet an orphan at work. ``started`` counts processes.
    """

    def __init__(self, inherit: t.Sequence[int] = ()) -> None:
        self.inherit: tuple[int, ...] = tuple(inherit)
        self.started = 0
        self._environment = dict(
            os.environ,
            LC_ALL="C",
            LANGUAGE="C",
            PATH=SEARCH_PATH,
            # Else LVM complains of each inherited descriptor, and the complaint hides what it has to say (lvm(8)).
            LVM_SUPPRESS_FD_WARNINGS="1",
        )

    def run(
        self,
        argv: t.Sequence[str],
        accept: t.Container[int] = (0,),
        data: bytes | None = None,
        timeout: float | None = None,
        tied: bool = False,
    ) -> str:
        """Run ``argv`` and return its standard output.

        Raises :class:`CommandError` when the exit status is not in ``accept``. ``data`` is its standard input;
        without it standard input is empty, so that no tool can wait for an answer. After ``timeout`` seconds the
        command is killed with all that it has started in its session. A ``tied`` command is for looking only: the
        kernel kills it when this process ends, however it ends, and what it leaves behind inherits nothing.
        """
        command = tuple(argv)
        self.started += 1
        try:
            process = subprocess.Popen(
                (*_TIED, *command) if tied else command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._environment,
                pass_fds=() if tied else self.inherit,
                start_new_session=timeout is not None,
            )
        except OSError as error:
            raise CommandError(command, 127, "", str(error)) from error
        with process:
            try:
                stdout, stderr = process.communicate(data if data is not None else b"", timeout)
                status = process.returncode
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                stdout, stderr = _last_words(process)
                status = TIMED_OUT
                stderr += f"\n(killed after {timeout:.0f} s)".encode()
            except BaseException:
                process.kill()
                raise
        text = stdout.decode("utf-8", "replace")
        if status not in accept:
            raise CommandError(command, status, text, stderr.decode("utf-8", "replace"))
        return text


def _last_words(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """What a killed process said; not waited for if somebody who left its session still holds its output."""
    try:
        return process.communicate(timeout=1.0)
    except subprocess.TimeoutExpired as late:
        return late.stdout or b"", late.stderr or b""


def require(tools: t.Mapping[str, str]) -> None:
    """Check that every program of ``tools`` (program name to Debian package) is installed.

    Raises :class:`MissingTool` for the first that is not.
    """
    for program, package in tools.items():
        if shutil.which(program, path=SEARCH_PATH) is None:
            raise MissingTool(program, package)
