"""A real Chromium, driven by its DevTools protocol."""

import base64
import itertools
import json
import shutil
import subprocess
import time
import urllib.request
from contextlib import ExitStack, contextmanager

import pytest

FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --disable-extensions "
    "--disable-background-networking --remote-debugging-port=0 --window-size=1280,900 --hide-scrollbars"
)


class Tab:
    """One tab: what it logs, what it requests, and ways to act in it."""

    def __init__(self, port, url):
        from websockets.sync.client import connect

        request = urllib.request.Request(f"http://127.0.0.1:{port}/json/new?about:blank", method="PUT")
        with urllib.request.urlopen(request, timeout=20) as answer:
            about = json.load(answer)
        self.open = ExitStack()
        self.socket = self.open.enter_context(
            # a browser that has ended answers nothing, so closing need not wait for it
            connect(about["webSocketDebuggerUrl"], max_size=None, proxy=None, ping_interval=None, close_timeout=0.2)
        )
        self.numbers, self.complaints, self.requests = itertools.count(1), [], []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.navigate", url=url)

    def call(self, method, **about):
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": about}))
        while True:
            message = json.loads(self.socket.recv(timeout=60))
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]
            self._note(message)

    def _note(self, message):
        method, about = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(about["exceptionDetails"]["text"])
        elif method == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning"):
            self.complaints.append(str(about["args"]))
        elif method == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.complaints.append(about["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif method == "Network.webSocketCreated":
            self.requests.append(about["url"])

    def js(self, text):
        found = self.call("Runtime.evaluate", expression=text, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait_for(self, text, seconds=60):
        deadline = time.monotonic() + seconds
        while not (value := self.js(text)):
            assert time.monotonic() < deadline, text
            time.sleep(0.05)
        return value

    def mouse(self, kind, x, y):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def key(self, kind, key):
        code = f"Digit{key}" if key.isdigit() else f"Key{key.upper()}"
        self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code, text=key if kind == "keyDown" else "")

    def draw(self, *strokes):
        """Strokes of points from 0 to 1 on the pad, by the mouse."""
        box = self.js(
            "(() => { const b = $('pad').getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()"
        )
        for stroke in strokes:
            points = [(box[0] + box[2] * x, box[1] + box[3] * y) for x, y in stroke]
            self.mouse("mousePressed", *points[0])
            for point in points[1:]:
                self.mouse("mouseMoved", *point)
            self.mouse("mouseReleased", *points[-1])

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def close(self):
        self.open.close()


@contextmanager
def chromium(folder):
    """A function that opens tabs."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no chromium here")
    process = subprocess.Popen(
        [program, *FLAGS.split(), f"--user-data-dir={folder}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    tabs = []
    try:
        port_file, deadline = folder / "DevToolsActivePort", time.monotonic() + 60
        while not (port_file.is_file() and port_file.read_text("utf-8").strip()):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        port = port_file.read_text("utf-8").split()[0]

        def open_tab(url):
            tabs.append(Tab(port, url))
            return tabs[-1]

        open_tab.kill = process.kill
        yield open_tab
    finally:
        process.terminate()  # before the tabs, which would wait for its answers
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for tab in tabs:
            tab.close()
