"""The page and the show behind it, on a port of this machine: websockets and a few plain files.

Who may look: anyone who has the token, from a page of this server. The first page may act, others only watch.
A page that is slow gets fewer frames, and one that goes away is forgotten: the show never waits for any.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import platform
import secrets
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from timesurf.errors import MissingEngineError, SettingError, TimesurfError
from timesurf.live.acts import Acts

LOCAL = ("127.0.0.1", "localhost", "::1")
_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # all addresses of this machine, and the one that it has for itself
FRAMES = 30  # per second
LARGEST = 64 << 20  # bytes of a model that a page sends
LONGEST = 1 << 16  # bytes of any other message
PER_SECOND = 240  # messages
_BEHIND = 1 << 18  # bytes that may wait for a slow page before frames are left out
_MOST_PAGES = 16
_PAGES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
    "/draw.js": ("draw.js", "text/javascript; charset=utf-8"),
}
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


def _quiet() -> logging.Logger:
    """A log that nobody sees: who knocks at a port and runs away is no news."""
    log = logging.getLogger("timesurf.live.host")
    log.setLevel(logging.CRITICAL)
    return log


class Host:
    """A server for one show.

    Parameters
    ----------
    acts : Acts
        What a page may ask for.
    host, port : str, int
        Where to listen; port 0 chooses a free one.
    token : str, optional
        What an address must hold; None: a random one.

    Attributes
    ----------
    address : str
        Of the page, with the token, once it serves.
    frames : int
        Frames made so far.

    """

    def __init__(self, acts: Acts, host: str = "127.0.0.1", port: int = 0, token: str | None = None) -> None:
        self.acts, self.host, self.port = acts, host, port
        self.token = token or secrets.token_urlsafe(24)
        self.frames = 0
        self._pages: list[Any] = []  # connections; the first acts
        self._allowance: dict[Any, tuple[float, float]] = {}
        self._skipped: dict[Any, int] = {}  # frames that were left out for a page that is slow
        self._reported: dict[Any, int] = {}  # how many of them it knows of
        self._version = 0

    @property
    def address(self) -> str:
        """Of the page, with the token, for this machine."""
        return self._address(_ANY.get(self.host, self.host))

    @property
    def elsewhere(self) -> str | None:
        """The same for other machines; None if they cannot reach it."""
        if self.host in LOCAL:
            return None
        return self._address((platform.node() or "localhost") if self.host in _ANY else self.host)

    def _address(self, host: str) -> str:
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/?token={self.token}"

    async def serve(self, stop: asyncio.Event, ready: Callable[[], None] = lambda: None) -> None:
        """Serve pages until `stop` is set."""
        try:
            from websockets.asyncio.server import serve
        except ImportError as error:
            raise MissingEngineError("The page needs the package websockets: pip install 'timesurf[live]'.") from error
        try:
            server = await serve(
                self._talk, self.host, self.port,
                process_request=self._request, max_size=LARGEST, compression=None, ping_interval=20, ping_timeout=20,
                close_timeout=1, server_header=None, logger=_quiet(),
            )  # fmt: skip
        except OSError as error:
            raise SettingError(f"No page at {self.host}:{self.port}: {error}.") from error
        async with server:
            self.port = server.sockets[0].getsockname()[1]
            ready()
            await self._frames(stop)

    async def _frames(self, stop: asyncio.Event) -> None:
        """Make frames, and send them to all pages that keep up."""
        due = time.monotonic()
        while not stop.is_set():
            due = max(due + 1 / FRAMES, time.monotonic())
            if self._pages:
                try:
                    await self._frame()
                except Exception as error:  # what goes wrong with one picture must not end the show
                    self._tell_all({"done": None, "wrong": f"A frame is missing: {type(error).__name__}: {error}"})
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), max(due - time.monotonic(), 0.001))

    async def _frame(self) -> None:
        """Make one frame, and send it; before it, what has changed of the network."""
        view = self.acts.show.view
        if view.version != self._version:
            self._version = view.version
            self._tell_all({"network": view.about()})
        frame = await asyncio.to_thread(view.frame, self.acts.state())
        self.frames += 1
        for page in self._pages:
            if page.transport.get_write_buffer_size() >= _BEHIND:
                self._skipped[page] += 1
                continue
            if self._reported[page] != self._skipped[page]:
                self._reported[page] = self._skipped[page]
                self._send(page, json.dumps({"skipped": self._skipped[page]}))
            self._send(page, frame)

    def _send(self, page: Any, message: bytes | str) -> None:
        """Send without waiting."""
        from websockets.asyncio.server import broadcast

        broadcast([page], message)

    def _tell_all(self, what: dict[str, Any]) -> None:
        for page in self._pages:
            self._send(page, json.dumps(what))

    # requests

    def _refusal(self, request: Any) -> str | None:
        """Why a request is refused."""
        host = request.headers.get("Host", "")
        names = {self.host, "127.0.0.1", "localhost", "[::1]"} if self.host in LOCAL else None
        if names is not None and host not in {f"{name}:{self.port}" for name in names}:
            return "this server answers to its own name only"
        origin = request.headers.get("Origin")
        if origin is not None and origin != f"http://{host}":
            return "this page belongs to another server"
        return None

    def _has_token(self, request: Any) -> bool:
        given = parse_qs(urlsplit(request.path).query).get("token", [""])[0]
        return hmac.compare_digest(given.encode(), self.token.encode())

    async def _request(self, connection: Any, request: Any) -> Any:
        """Answer a request for a file; None: it may become a websocket."""
        path = urlsplit(request.path).path
        why = self._refusal(request)
        if why:
            return self._answer(HTTPStatus.FORBIDDEN, f"Refused: {why}.\n".encode())
        if path in _PAGES and path != "/":
            name, kind = _PAGES[path]
            return self._answer(HTTPStatus.OK, files("timesurf.live.page").joinpath(name).read_bytes(), kind)
        if not self._has_token(request):
            text = b"Refused: open the address that timesurf live has printed; it holds a token.\n"
            return self._answer(HTTPStatus.FORBIDDEN, text)
        if path == "/ws":
            if request.headers.get("Origin") is None:
                return self._answer(HTTPStatus.FORBIDDEN, b"Refused: only a page may connect.\n")
            return None
        if path in ("/model.tsf", "/recordings.npz"):
            return await self._download(path)
        if path != "/":
            return self._answer(HTTPStatus.NOT_FOUND, b"There is nothing here.\n")
        name, kind = _PAGES[path]
        return self._answer(HTTPStatus.OK, files("timesurf.live.page").joinpath(name).read_bytes(), kind)

    async def _download(self, path: str) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / path.strip("/")
            try:
                await self.acts.write(file)
            except TimesurfError as error:
                return self._answer(HTTPStatus.CONFLICT, f"{error}\n".encode())
            body = file.read_bytes()
        return self._answer(HTTPStatus.OK, body, "application/octet-stream", file.name)

    def _answer(self, status: HTTPStatus, body: bytes, kind: str = "text/plain; charset=utf-8", name: str = "") -> Any:
        from websockets.datastructures import Headers
        from websockets.http11 import Response

        headers = Headers({**_HEADERS, "Content-Type": kind, "Content-Length": str(len(body)), "Connection": "close"})
        if name:
            headers["Content-Disposition"] = f'attachment; filename="{name}"'
        return Response(status.value, status.phrase, headers, body)

    # pages

    async def _talk(self, page: Any) -> None:
        """One page, from its first message to its last."""
        from websockets.exceptions import ConnectionClosed

        if len(self._pages) >= _MOST_PAGES:
            await page.close(1013, "too many pages")
            return
        if not self._pages:
            self.acts.show.view.look()
        self._pages.append(page)
        self._skipped[page] = self._reported[page] = 0
        self._allowance[page] = (float(PER_SECOND), time.monotonic())
        try:
            self._send(page, json.dumps({"network": self.acts.show.view.about(), "acts": page is self._pages[0]}))
            async for message in page:
                if not self._allowed(page, message):
                    await page.close(1008, "too many or too large messages")
                    return
                if page is self._pages[0]:
                    self._send(page, json.dumps(await self._act(message)))
        except ConnectionClosed:
            pass
        finally:
            self._pages.remove(page)
            del self._allowance[page], self._skipped[page], self._reported[page]
            if self._pages:
                self._send(self._pages[0], json.dumps({"acts": True}))
            else:
                self.acts.nobody()

    def _allowed(self, page: Any, message: bytes | str) -> bool:
        """Whether a message is within the limits of size and number."""
        left, before = self._allowance[page]
        now = time.monotonic()
        left = min(left + PER_SECOND * (now - before), float(PER_SECOND)) - 1
        self._allowance[page] = left, now
        return left >= 0 and (isinstance(message, bytes) or len(message) <= LONGEST)

    async def _act(self, message: bytes | str) -> dict[str, Any]:
        """Do what a page asks for: what to tell it."""
        number = None
        try:
            if isinstance(message, bytes):
                return {"done": None, "says": await self.acts.load(message)}
            asked = json.loads(message)
            if not isinstance(asked, dict):
                raise SettingError("A message is an object with the name of an act.")
            number = asked.get("number")
            return {"done": number, "says": await self.acts.do(asked)}
        except KeyError as error:
            return {"done": number, "wrong": f"A message without {error}."}
        except RecursionError:
            return {"done": number, "wrong": "A message with too many brackets."}
        except (TimesurfError, ValueError, TypeError, OSError) as error:
            return {"done": number, "wrong": str(error) or type(error).__name__}
