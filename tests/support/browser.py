"""A headless Chromium that is told what to do by its own protocol, over a pipe: keys are pressed, not only their events sent."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, BinaryIO

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ALWAYS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--allow-file-access-from-files")
_KEYS = {"Tab": ("\t", 9), "Enter": ("\r", 13), " ": (" ", 32), "Backspace": ("", 8)}
# Chromium reads the pipe as file 3 and writes it as file 4.
_START = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execvp(sys.argv[3], sys.argv[3:])"
_PATIENCE = 30


def program() -> str | None:
    """The Chromium of this machine."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class Tab:
    """A page in a browser. `said`: what it wrote to the console, and what it wanted to load."""

    def __init__(self, of: str, profile: Path, *arguments: str) -> None:
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for pair in (os.pipe(), os.pipe()) for end in pair]  # apart from 3 and 4
        theirs = (ends[0], ends[3])
        started = [sys.executable, "-c", _START, *map(str, theirs), of, *ALWAYS, "--remote-debugging-pipe", f"--user-data-dir={profile}"]
        self._process = subprocess.Popen([*started, *arguments], pass_fds=theirs, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        for end in theirs:
            os.close(end)
        self._answers: BinaryIO = os.fdopen(ends[2], "rb")
        self._asked: BinaryIO = os.fdopen(ends[1], "wb", buffering=0)
        self._number, self._session = 0, ""
        self._held = b""
        self.said: list[str] = []
        self.loaded: list[str] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for each in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{each}.enable")

    def ask(self, method: str, **values: Any) -> dict[str, Any]:
        """The answer to one command."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": values}
        if self._session:
            command["sessionId"] = self._session
        self._asked.write(json.dumps(command).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return dict(answer["result"])
            self._note(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._held:
            piece = os.read(self._answers.fileno(), 1 << 16)
            assert piece, "the browser has ended"
            self._held += piece
        message, _, self._held = self._held.partition(b"\0")
        return dict(json.loads(message))

    def _note(self, event: dict[str, Any]) -> None:
        if event["method"] in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.said.append(json.dumps(event["params"]))
        if event["method"] == "Network.requestWillBeSent":
            self.loaded.append(event["params"]["request"]["url"])

    def open(self, url: str) -> None:
        """Go to a page."""
        self.ask("Page.navigate", url=url)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def value(self, expression: str) -> Any:
        """What the page makes of an expression in JavaScript."""
        found = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def until(self, expression: str) -> None:
        """Wait until that is true of the page."""
        end = time.monotonic() + _PATIENCE
        while not self.value(expression):
            assert time.monotonic() < end, f"not within {_PATIENCE} s: {expression}"
            time.sleep(0.02)

    def press(self, *keys: str) -> None:
        """Press keys one after another; a text is typed."""
        for key in keys:
            if key not in _KEYS:
                self.ask("Input.insertText", text=key)
                continue
            text, code = _KEYS[key]
            named = {"key": key, "windowsVirtualKeyCode": code} | ({"text": text} if text not in ("", "\t") else {})
            self.ask("Input.dispatchKeyEvent", type="keyDown", **named)
            self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def picture(self, path: Path, width: int, height: int, **settings: Any) -> None:
        """A picture of the page at that size."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", format="png", **settings)["data"]))

    def close(self) -> None:
        """End the browser."""
        try:
            self._session = ""
            self.ask("Browser.close")
        except (AssertionError, OSError):
            self._process.kill()
        self._process.wait(_PATIENCE)
        self._asked.close()
        self._answers.close()
