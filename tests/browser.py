"""A real browser for tests: headless Chromium, spoken to over its DevTools protocol through a pipe."""

import base64
import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--remote-debugging-pipe",
)  # fmt: skip
_PATIENCE_S = 60


@dataclass
class Page:
    """What came of opening an address."""

    requests: list[str] = field(default_factory=list)  # addresses, the page's own first
    complaints: list[str] = field(default_factory=list)  # of the console and the browser's log


class Browser:
    """One tab of a Chromium with a profile of its own, which ends with the `with` block."""

    def __init__(self) -> None:
        program = next(filter(None, map(shutil.which, _NAMES)), None)
        if program is None:
            pytest.skip("needs Chromium: apt-get update && apt-get install -y chromium")
        self._program = program
        self._ids = itertools.count(1)
        self._received = b""
        self._events: list[dict[str, Any]] = []
        self._session: dict[str, str] = {}

    def __enter__(self) -> Self:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self._write = _pipe()
        self._read, to_write = _pipe()

        def on_3_and_4() -> None:  # Chromium reads what to do from descriptor 3, and answers on descriptor 4
            os.dup2(to_read, 3)
            os.dup2(to_write, 4)

        self._process = subprocess.Popen(
            [self._program, *_FLAGS, f"--user-data-dir={self._profile.name}"],
            preexec_fn=on_3_and_4,  # noqa: PLW1509 (no threads here)
            close_fds=False,  # those two must stay open; the others close by themselves
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = {"sessionId": self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.send(f"{domain}.enable")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._write)  # its end of the pipe gone, Chromium ends
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)
        self._profile.cleanup()

    def open(self, file: Path, *, width: int, height: int = 800, scheme: str = "light") -> Page:
        """Open a file in a window of this size, in CSS pixels, with this colour scheme, and wait until it is loaded."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self._events.clear()
        self.send("Page.navigate", url=file.resolve().as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._receive()
        self.run("new Promise(done => requestAnimationFrame(() => setTimeout(done, 100)))")  # late requests, too
        return Page([*self._found("Network.requestWillBeSent", "request", "url")], [*self._complaints()])

    def run(self, script: str) -> Any:
        """Return the value of a JavaScript expression in the page."""
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def screenshot(self) -> bytes:
        """Return the whole page as a PNG file."""
        return base64.b64decode(self.send("Page.captureScreenshot", captureBeyondViewport=True)["data"])

    def send(self, method: str, **parameters: Any) -> Any:
        """Send a command of the protocol and return its result."""
        number = next(self._ids)
        message = {"id": number, "method": method, "params": parameters} | self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]

    def _receive(self) -> dict[str, Any]:
        """Return the next message; events are kept as well."""
        deadline = time.monotonic() + _PATIENCE_S
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._read], [], [], max(0, deadline - time.monotonic()))
            chunk = os.read(self._read, 1 << 20) if ready else b""
            assert chunk, "Chromium does not answer"
            self._received += chunk
        text, _, self._received = self._received.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        if "method" in message:
            self._events.append(message)
        return message

    def _found(self, method: str, *keys: str) -> list[Any]:
        values = []
        for event in self._events:
            if event["method"] == method:
                value = event["params"]
                for key in keys:
                    value = value[key]
                values.append(value)
        return values

    def _complaints(self) -> list[str]:
        errors = [found for found in self._found("Runtime.consoleAPICalled") if found["type"] in ("error", "warning")]
        exceptions = self._found("Runtime.exceptionThrown", "exceptionDetails")
        return [json.dumps(found) for found in [*errors, *exceptions, *self._found("Log.entryAdded", "entry")]]


def _pipe() -> tuple[int, int]:
    """Return the ends of a pipe, both far above 4."""
    ends = os.pipe()
    read, write = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)
    return read, write
