"""What differs on Windows and macOS: what they lack is simulated here, or the source is searched for it."""

import ast
import asyncio
import errno
import os
import signal
import socket
import stat
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from timesurf.bench import endurance
from timesurf.cli import live, page, terminal
from timesurf.errors import EventError
from timesurf.io import receive
from timesurf.live import commands
from timesurf.storage import atomic, cache, mapped, remote

ROOT = Path(__file__).parents[1]
SOURCE = sorted((ROOT / "src").rglob("*.py"))
TOOLS = ("benchmarks", "docs/_ext", "examples", "fuzz", "requirements", "tools")
POSIX_ONLY = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}


def refuse(*_, **__):
    raise PermissionError(errno.EACCES, "Access is denied")


def on_windows(monkeypatch, module, **functions):
    """Let a module see another `os`; all others, pathlib above all, keep theirs."""
    monkeypatch.setattr(module, "os", SimpleNamespace(**vars(os) | {"name": "nt"} | functions))


def test_a_file_that_windows_has_open_is_not_replaced_and_the_error_says_so(tmp_path, monkeypatch):
    (tmp_path / "model.tsf").write_bytes(b"old")
    on_windows(monkeypatch, atomic, replace=refuse)
    with (
        pytest.raises(PermissionError, match=r"Cannot write .*model\.tsf.*has open"),
        atomic.replacing(tmp_path / "model.tsf") as file,
    ):
        file.write(b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["model.tsf"]
    assert (tmp_path / "model.tsf").read_bytes() == b"old"


@pytest.mark.skipif(os.name != "posix", reason="asks POSIX how a file was opened")
def test_files_are_flushed_through_a_handle_that_can_write(tmp_path, monkeypatch):
    import fcntl

    flushed = []

    def fsync(handle):
        if stat.S_ISREG(os.fstat(handle).st_mode):
            flushed.append(fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE)

    on_windows(monkeypatch, atomic, fsync=fsync)
    with atomic.replacing(tmp_path / "some") as file:
        file.write(b"new")
    assert flushed == [os.O_RDWR]


def test_a_spool_has_no_name_where_temporary_files_have_one(monkeypatch):
    monkeypatch.setattr(tempfile, "TemporaryFile", tempfile.NamedTemporaryFile)  # as on Windows
    spool = mapped.Spool()
    spool.append(np.arange(3))
    values = spool.array()
    assert not mapped.has_name(values)
    assert not mapped.has_name(values[1:])
    assert mapped.Stretch.of(values).tolist() == [0, 1, 2]


def test_pages_stay_where_they_cannot_be_given_back(tmp_path, monkeypatch):
    np.arange(4).tofile(tmp_path / "some")
    monkeypatch.setattr(mapped, "_CAN_RELEASE", False)
    values = np.memmap(tmp_path / "some", np.int64, mode="r")
    mapped.release(values)
    assert values.tolist() == [0, 1, 2, 3]


def test_a_copy_that_is_mapped_and_cannot_be_removed_is_forgotten(monkeypatch):
    monkeypatch.setattr(remote, "_origins", {"copy": "s3://bucket/some.npz"})
    monkeypatch.setattr(Path, "unlink", refuse)
    remote.drop("s3://bucket/some.npz")
    assert remote.origin("copy") is None


def test_a_long_datagram_of_commands_is_cut_here_and_not_by_the_system():
    class Receiver:
        """As on Windows: what does not fit is an error."""

        def __init__(self):
            self.sent = [b"label 1\nlabel 2", b"x" * 1000]

        def recv(self, size):
            if size < len(self.sent[0]):
                raise OSError(errno.EMSGSIZE, "A message sent on a datagram socket was larger than the buffer")
            return self.sent.pop(0)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    lines = commands._datagrams(Receiver())
    assert [next(lines), next(lines), next(lines)] == ["label 1", "label 2", "x" * commands._LONGEST]


def test_a_system_that_grants_no_large_queue_still_receives(monkeypatch):
    class Socket(socket.socket):
        """As on BSD and macOS: a queue over the limit is an error."""

        def setsockopt(self, level, option, value):
            if option == socket.SO_RCVBUF:
                raise OSError(errno.ENOBUFS, "No buffer space available")
            super().setsockopt(level, option, value)

    monkeypatch.setattr(receive.socket, "socket", Socket)
    monkeypatch.setattr(receive.sys, "platform", "darwin")
    with receive.Datagrams("here", ("127.0.0.1", 0)) as packets:
        assert packets.lost is None
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(np.zeros(2, receive.WIRE).tobytes(), packets._socket.getsockname())
        assert len(next(packets)) == 2
    with pytest.raises(EventError, match="cannot be read"):
        receive.Datagrams("here", ("127.0.0.1", -1))


def test_where_memory_cannot_be_measured_an_error_says_so(monkeypatch):
    def missing(*_, **__):
        raise FileNotFoundError(errno.ENOENT, "No such file or directory")

    monkeypatch.setattr(Path, "read_text", missing)
    with pytest.raises(OSError, match="only Linux states it"):
        endurance.resident()


def test_text_is_read_and_written_with_a_stated_encoding():
    """Otherwise Windows takes its own, in which other systems cannot read it."""
    bad = []
    for path in [*SOURCE, *(path for folder in TOOLS for path in sorted((ROOT / folder).rglob("*.py")))]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and not any(word.arg == "encoding" for word in node.keywords):
                if isinstance(node.func, ast.Attribute):
                    least = {"read_text": 1, "write_text": 2}.get(node.func.attr, 0)
                else:
                    mode = node.args[1] if len(node.args) > 1 else None
                    binary = isinstance(mode, ast.Constant) and "b" in str(mode.value)
                    least = 4 if getattr(node.func, "id", None) == "open" and not binary else 0
                if len(node.args) < least:
                    bad.append(f"{path.name}:{node.lineno}")
    assert not bad


def test_workflows_read_and_write_utf_8_on_every_system():
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        assert 'PYTHONUTF8: "1"' in path.read_text("utf-8"), path.name
    assert "* text=auto eol=lf\n" in (ROOT / ".gitattributes").read_text("utf-8")


def test_a_temporary_cache_on_windows_is_the_same_for_all_processes_of_a_user(tmp_path, monkeypatch):
    on_windows(monkeypatch, cache)
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert cache.temporary() == cache.temporary() == tmp_path / "Temp" / "timesurf"
    monkeypatch.delenv("LOCALAPPDATA")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert cache.temporary() != cache.temporary()


def test_sigbreak_interrupts_what_is_to_be_saved(monkeypatch):
    """Windows sends it to end a process; here another signal stands for it."""
    another = getattr(signal, "SIGUSR1", None) or signal.SIGBREAK
    monkeypatch.setattr(signal, "SIGBREAK", another, raising=False)
    before = signal.getsignal(another)
    with pytest.raises(KeyboardInterrupt), terminal.interrupted_when_ended():
        signal.raise_signal(another)
    assert signal.getsignal(another) == before
    assert "SIGBREAK" in live._ENDING


def test_the_page_ends_by_signals_where_the_loop_takes_none(monkeypatch):
    def missing(*_):
        raise NotImplementedError

    class Host:
        address, elsewhere = "here", None

        async def serve(self, stop, ready):
            signal.raise_signal(signal.SIGTERM)
            await stop.wait()

    names = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
    before = {getattr(signal, name): signal.getsignal(getattr(signal, name)) for name in names if hasattr(signal, name)}
    monkeypatch.setattr(asyncio.SelectorEventLoop, "add_signal_handler", missing)
    try:
        asyncio.run(page._serve(Host(), SimpleNamespace(working=True), browser=False))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_modules_of_posix_are_imported_only_where_there_is_another_way():
    found = set()
    for path in SOURCE:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
                found |= {path.name} if names & POSIX_ONLY else set()
    assert found == {"lock.py"}
