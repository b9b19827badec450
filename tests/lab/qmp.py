"""A client for QEMU's machine protocol (docs/interop/qmp-spec.txt): one request at a time, events kept."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from .errors import LabError


class QmpError(LabError):
    """QEMU refused a command; ``kind`` is its error class."""

    def __init__(self, command: str, kind: str, text: str) -> None:
        self.kind = kind
        super().__init__(f"QEMU refused {command}: {text}")


class Qmp:
    """A connection to a QMP socket. Use as a context manager; QEMU serves one client at a time per socket."""

    def __init__(self, path: Path, timeout: float = 60.0) -> None:
        self.events: list[dict[str, Any]] = []
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(timeout)
        self._buffer = b""
        try:
            self._socket.connect(str(path))
            self._receive(time.monotonic() + timeout)
            self.execute("qmp_capabilities")
        except OSError as error:
            self._socket.close()
            raise LabError(f"the machine behind {path} does not answer: {error}") from error

    def __enter__(self) -> Qmp:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def execute(self, command: str, arguments: Mapping[str, Any] | None = None, timeout: float = 60.0) -> Any:
        """Run one command and return what it returned.

        Raises:
            QmpError: QEMU refused it.
            LabError: no answer within ``timeout`` seconds.
        """
        request: dict[str, Any] = {"execute": command}
        if arguments:
            request["arguments"] = dict(arguments)
        self._socket.sendall(json.dumps(request).encode() + b"\n")
        deadline = time.monotonic() + timeout
        while True:
            message = self._receive(deadline)
            if "return" in message:
                return message["return"]
            if "error" in message:
                raise QmpError(command, message["error"]["class"], message["error"]["desc"])
            self.events.append(message)

    def wait_event(self, name: str, timeout: float, **data: Any) -> dict[str, Any]:
        """The first event ``name`` whose data contains ``data``; raises LabError after ``timeout`` seconds."""
        deadline = time.monotonic() + timeout
        while True:
            for event in self.events:
                if event.get("event") == name and data.items() <= event.get("data", {}).items():
                    self.events.remove(event)
                    return event
            self.events.append(self._receive(deadline))

    def run_job(self, command: str, job: str, timeout: float, arguments: Mapping[str, Any]) -> None:
        """Start a job and wait for its end; raises LabError with the job's error."""
        self.execute(command, {"job-id": job, **arguments})
        deadline = time.monotonic() + timeout
        while True:
            state = next((item for item in self.execute("query-jobs") if item["id"] == job), None)
            if state is None:
                raise LabError(f"QEMU forgot the job {job}")
            if state["status"] == "concluded":
                self.execute("job-dismiss", {"id": job})
                if "error" in state:
                    raise LabError(f"{command}: {state['error']}")
                return
            self.wait_event("JOB_STATUS_CHANGE", max(0.1, deadline - time.monotonic()), id=job)

    def _receive(self, deadline: float) -> dict[str, Any]:
        while b"\n" not in self._buffer:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise LabError("QEMU did not answer in time")
            self._socket.settimeout(remaining)
            try:
                chunk = self._socket.recv(65536)
            except TimeoutError as error:
                raise LabError("QEMU did not answer in time") from error
            except OSError as error:
                raise LabError(f"the connection to QEMU broke: {error}") from error
            if not chunk:
                raise LabError("QEMU closed the connection")
            self._buffer += chunk
        line, self._buffer = self._buffer.split(b"\n", 1)
        message: dict[str, Any] = json.loads(line)
        return message
