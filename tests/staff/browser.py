"""Headless Chromium for tests: opens a page from disk, asks it things in JavaScript, clicks, and hears what it fetches.

Speaks the DevTools protocol over a pair of pipes, so it needs the program ``chromium`` and nothing else::

    with Browser() as browser:
        page = browser.open(path, width=360)
        assert page.evaluate("document.title") == "A page"
        page.click("th.score")
        assert page.requests == [path.as_uri()]
        assert page.messages == []
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

INSTALL = "apt-get update && apt-get install -y chromium"  # as README.md has it
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = (
    *("--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--hide-scrollbars", "--mute-audio"),
    *("--no-first-run", "--no-default-browser-check", "--disable-extensions", "--disable-sync", "--disable-breakpad"),
    *("--disable-background-networking", "--disable-component-update", "--disable-default-apps"),
    *("--disable-dev-shm-usage", "--password-store=basic", "--use-mock-keychain", "--metrics-recording-only"),
    "--no-sandbox",  # root has no other way, and only our own pages are opened
)
SECONDS = 30.0


class Browser:
    """A running browser, with a profile of its own that goes with it. Without a Chromium the test fails, saying so."""

    def __init__(self) -> None:
        program = next(filter(None, map(shutil.which, NAMES)), None)
        if program is None:
            pytest.fail(INSTALL, pytrace=False)
        self._profile = tempfile.mkdtemp(prefix="browser-")
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        # Chromium reads file 3 and writes file 4. Both ends go out of the way first: they may be 3 or 4 now.
        theirs = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (theirs_in, theirs_out)]
        command = [program, *OPTIONS, f"--user-data-dir={self._profile}", "about:blank"]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": self._profile},
            pass_fds=(3, 4),
            preexec_fn=lambda: [os.dup2(end, number) for number, end in zip((3, 4), theirs, strict=True)],  # type: ignore[arg-type,return-value]
            start_new_session=True,
        )
        for end in (theirs_in, theirs_out, *theirs):
            os.close(end)
        self._out, self._in = ours_out, ours_in
        self._received = bytearray()
        self._number = 0
        self._pages: dict[str, Page] = {}

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def open(
        self, path: Path, *, width: int = 1280, height: int = 800, dark: bool = False, script: bool = True
    ) -> Page:
        """A page in a tab of its own, when it has been loaded.

        Args:
            path: the file.
            width: of the window, in CSS pixels.
            height: of the window.
            dark: whether the reader prefers dark colours.
            script: whether the page may run JavaScript; ``evaluate`` works without, too.
        """
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, target, session)
        self._pages[session] = page
        for domain in ("Page", "Network", "Runtime", "Log"):
            page.ask(f"{domain}.enable")
        page.resize(width, height)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.ask("Emulation.setEmulatedMedia", features=[scheme])
        if not script:
            page.ask("Emulation.setScriptExecutionDisabled", value=True)
        page.go(path.resolve().as_uri())
        return page

    def close(self) -> None:
        """End the browser and all that it has started."""
        try:
            self.ask("Browser.close")
            self._process.wait(5)
        except (AssertionError, OSError, subprocess.TimeoutExpired):
            pass
        try:
            os.killpg(self._process.pid, signal.SIGKILL)  # a group of its own: nothing else is in it
        except ProcessLookupError:
            pass
        self._process.wait()
        os.close(self._out)
        os.close(self._in)
        shutil.rmtree(self._profile, ignore_errors=True)

    def ask(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """The answer to a command of the protocol; what happens meanwhile is noted on its page."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        while True:
            answer = self.receive(method)
            if answer.get("id") == number:
                assert "error" not in answer, f"{method}: {answer.get('error')}"
                result: dict[str, Any] = answer["result"]
                return result

    def receive(self, waiting_for: str) -> dict[str, Any]:
        """The next message; an event is noted on its page."""
        deadline = time.monotonic() + SECONDS
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._in], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"Chromium does not answer: {waiting_for}"
            data = os.read(self._in, 1 << 16)
            assert data, f"Chromium has ended: {waiting_for}"
            self._received += data
        end = self._received.index(b"\0")
        message: dict[str, Any] = json.loads(self._received[:end])
        del self._received[: end + 1]
        page = self._pages.get(message.get("sessionId", ""))
        if page is not None and "method" in message:
            page.hear(message["method"], message["params"])
        return message


class Page:
    """An open page.

    Attributes:
        requests: the address of everything that it asked for, itself first.
        messages: what stands in its console, uncaught errors and the browser's own complaints among it.
    """

    def __init__(self, browser: Browser, target: str, session: str) -> None:
        self._browser = browser
        self._target = target
        self._session = session
        self._loaded = False
        self.requests: list[str] = []
        self.messages: list[str] = []

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """See ``Browser.ask``."""
        return self._browser.ask(method, self._session, **parameters)

    def hear(self, method: str, event: dict[str, Any]) -> None:
        """Note an event."""
        if method == "Network.requestWillBeSent":
            self.requests.append(event["request"]["url"])
        elif method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Runtime.consoleAPICalled":
            words = [str(argument.get("value", argument.get("description"))) for argument in event["args"]]
            self.messages.append(f"{event['type']}: {' '.join(words)}")
        elif method == "Runtime.exceptionThrown":
            details = event["exceptionDetails"]
            self.messages.append(f"exception: {details.get('exception', {}).get('description', details['text'])}")
        elif method == "Log.entryAdded":
            self.messages.append(f"{event['entry']['level']}: {event['entry']['text']}")

    def go(self, address: str) -> None:
        """Load another page into this tab; what was heard before stays."""
        self._loaded = False
        error = self.ask("Page.navigate", url=address).get("errorText")
        assert error is None, f"{address}: {error}"
        while not self._loaded:
            self._browser.receive(f"loading {address}")

    def evaluate(self, script: str) -> Any:
        """The value of an expression; that of a promise when it is there."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        details = answer.get("exceptionDetails")
        assert details is None, f"{script}: {details}"
        return answer["result"].get("value")

    def wait(self, condition: str) -> None:
        """Until an expression is true, on this page or on the one that a click leads to."""
        deadline = time.monotonic() + SECONDS
        while True:
            answer = self.ask("Runtime.evaluate", expression=f"!!({condition})", returnByValue=True)
            if answer["result"].get("value") is True:
                return
            assert time.monotonic() < deadline, f"never true: {condition}"

    def click(self, selector: str) -> None:
        """Click, as with a mouse, into the middle of the first element that a CSS selector finds.

        A click that follows a link does not wait for the other page: see ``wait``.
        """
        place = self.evaluate(
            f"(element => {{ if (!element) return null; "
            "element.scrollIntoView({block: 'center', behavior: 'instant'});"
            " const box = element.getClientRects()[0] || element.getBoundingClientRect();"
            " return [box.x + box.width / 2, box.y + box.height / 2]; })"
            f"(document.querySelector({json.dumps(selector)}))"
        )
        assert place is not None, f"nothing here is {selector}"
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    def resize(self, width: int, height: int = 800) -> None:
        """Make the window that large, in CSS pixels."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def print_to(self, path: Path) -> None:
        """What the print dialog would make, as PDF."""
        path.write_bytes(base64.b64decode(self.ask("Page.printToPDF")["data"]))

    def picture(self, path: Path, whole: bool = False) -> None:
        """A PNG of the window, or of the whole page: for looking into a failure."""
        data = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        """Close the tab."""
        self._browser.ask("Target.closeTarget", targetId=self._target)
