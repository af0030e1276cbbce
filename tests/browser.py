"""A headless Chromium that tests look through, spoken to by its own pipe: no port, no driver, no package."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from types import TracebackType
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """One page of a browser process, which ends with the ``with`` block."""

    def __init__(self, width: int = 1000, height: int = 700, seconds: float = 30.0) -> None:
        """``seconds``: what one answer may take."""
        assert CHROMIUM is not None, "there is no Chromium"
        self._seconds, self._number, self._rest = seconds, 0, b""
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        ours_in, its_out = os.pipe()
        its_in, ours_out = os.pipe()
        # The browser's end of the pipes is at 3 and 4, whatever numbers they have here.
        script = f'exec 3<&{its_in} 4>&{its_out}; exec "$0" "$@"'
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
                 f"--user-data-dir={self._folder.name}", f"--window-size={width},{height}"]  # fmt: skip
        self._process = subprocess.Popen(
            ["bash", "-c", script, CHROMIUM, *flags],
            pass_fds=(its_in, its_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(its_in)
        os.close(its_out)
        self._in, self._out = ours_in, ours_out
        target = self._ask("Target.createTarget", {"url": "about:blank"})["targetId"]
        self._session = self._ask("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self._folder.cleanup()

    def open(self, address: str) -> None:
        """Load a page."""
        self.ask("Page.enable")
        self.ask("Page.navigate", url=address)
        self.wait("document.readyState === 'complete'")

    def evaluate(self, expression: str) -> Any:
        """Return what an expression of JavaScript gives, after its promise; raise what it raises."""
        given = self.ask("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in given:
            raise RuntimeError(str(given["exceptionDetails"]))
        return given["result"].get("value")

    def wait(self, condition: str, seconds: float = 20.0) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while not self.evaluate(f"Boolean({condition})"):
            if time.monotonic() > end:
                raise TimeoutError(condition)
            time.sleep(0.02)

    def click(self, x: float, y: float) -> None:
        """Click at a place of the page."""
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            pressed = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **pressed)

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command of the DevTools protocol to the page and return its result."""
        return self._ask(method, parameters, self._session)

    def _ask(self, method: str, parameters: dict[str, Any], session: str | None = None) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        os.write(self._out, json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0")
        end = time.monotonic() + self._seconds
        while True:
            while b"\0" in self._rest:
                text, _, self._rest = self._rest.partition(b"\0")
                reply = json.loads(text)
                if reply.get("id") == self._number:
                    if "error" in reply:
                        raise RuntimeError(f"{method}: {reply['error']}")
                    return dict(reply["result"])
            if not select.select([self._in], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError(method)
            read = os.read(self._in, 1 << 20)
            if not read:
                raise RuntimeError("the browser has ended")
            self._rest += read
