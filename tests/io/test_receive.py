"""Packets over UDP and on standard input: what holds events arrives, the rest is refused and counted."""

import os
import socket
import struct
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesurf import EventError
from timesurf.events import LATEST
from timesurf.io import camera
from timesurf.io.receive import DTYPE, Datagrams, Lines


def datagram(*events):
    """Events (t, x, y, on) as they are sent."""
    return b"".join(struct.pack("<QHHB", *event) for event in events)


@pytest.fixture
def port():
    """A free port of this machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def send(port, *datagrams):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        for one in datagrams:
            out.sendto(one, ("127.0.0.1", port))


def test_events_are_received_over_udp(port):
    with camera.packets(f"udp://127.0.0.1:{port}") as packets:
        send(port, datagram((5, 1, 2, 1), (9, 3, 4, 0)), b"", datagram((7, 0, 0, 1)))
        first, second = next(packets), next(packets)
    assert first.dtype == DTYPE
    assert first.tolist() == [(1, 2, 5, 1), (3, 4, 9, 0)]
    assert second["t"].tolist() == [7]  # whoever takes the packets knows whether that is late
    assert list(packets) == []  # closed


def test_events_as_faery_sends_them(port):
    faery = pytest.importorskip("faery")
    events = np.array([(5, 1, 2, True), (2**40, 300, 4, False)], faery.EVENTS_DTYPE)
    with camera.packets(f"udp://127.0.0.1:{port}") as packets:
        send(port, events.tobytes())
        assert next(packets).tolist() == [(1, 2, 5, 1), (300, 4, 2**40, 0)]


def test_a_datagram_without_whole_events_is_refused_or_an_error(port):
    reasons, bad = [], b"x" * 17
    with camera.packets(f"udp://127.0.0.1:{port}", refuse=lambda *about: reasons.append(about)) as packets:
        send(port, bad, datagram((5, 1, 2, 1)))
        assert next(packets)["t"].tolist() == [5]
    assert reasons == [(f"udp://127.0.0.1:{port}: a datagram of 17 bytes from 127.0.0.1, and an event has 13.", 1)]
    with camera.packets(f"udp://127.0.0.1:{port}") as packets:
        send(port, bad)
        with pytest.raises(EventError, match="17 bytes"):
            next(packets)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how many datagrams it has lost")
def test_datagrams_that_the_system_loses_are_counted(port):
    many, large = 200, datagram(*[(5, 1, 2, 1)] * 4000)
    with Datagrams("here", ("127.0.0.1", port)) as packets:
        assert packets.lost == 0
        send(port, *[large] * many)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
            received = 1 + (len(next(packets)) == 0)
            out.sendto(datagram((6, 1, 2, 1)), ("127.0.0.1", port))  # brings the count with it
            while next(packets)["t"][0] != 6:
                received += 1
    assert packets.lost > 0
    assert received + packets.lost == many


def test_closing_ends_a_wait_for_datagrams(port):
    packets = Datagrams("here", ("127.0.0.1", port))
    received = []
    waiting = threading.Thread(target=lambda: received.extend(packets))
    waiting.start()
    time.sleep(0.05)
    packets.close()
    waiting.join(5)
    assert not waiting.is_alive()
    assert received == []
    Datagrams("here", ("127.0.0.1", port)).close()  # the port is free again


def test_a_port_in_use_is_an_error(port):
    with Datagrams("here", ("127.0.0.1", port)), pytest.raises(EventError, match=r"cannot be read: .*in use"):
        camera.packets(f"udp://127.0.0.1:{port}")


@pytest.mark.parametrize("url", ["udp://127.0.0.1", "udp://:7777", "udp://a:seven", "udp:7777", "udp://a:0"])
def test_addresses_need_host_and_port(url):
    with pytest.raises(EventError, match="names no host and port"):
        camera.packets(url)


def test_a_host_that_is_not_here_is_an_error():
    with pytest.raises(EventError, match=r"udp://192\.0\.2\.1:7777 cannot be read"):
        camera.packets("udp://192.0.2.1:7777")


# ---------------------------------------------------------------------- text


def read(text, **how):
    """Events of a text that comes through a pipe, as tuples (t, x, y, on), and what was refused."""
    out, into = os.pipe()
    reasons = []

    def write():
        with open(into, "wb") as file:
            file.write(text)

    writer = threading.Thread(target=write)
    writer.start()
    with open(out, "rb") as file:
        packets = list(Lines(file.fileno(), "here", lambda *about: reasons.append(about), **how))
    writer.join()
    assert all(len(packet) for packet in packets)
    return [(t, x, y, p) for packet in packets for x, y, t, p in packet.tolist()], reasons


def expected(line):
    """The event of a line, read by Python."""
    parts = [part.strip(b" ") for part in line.removesuffix(b"\r").split(b",")]
    if len(parts) != 4 or not all(part.removeprefix(b"-").isdigit() for part in parts):
        return None
    t, x, y, on = map(int, parts)
    return (t, x, y, int(on > 0)) if 0 <= t < LATEST and 0 <= min(x, y) <= max(x, y) < 65536 and -1 <= on < 2 else None


numbers = st.sampled_from(
    [b"0", b"1", b"2", b"007", b"65535", b"65536", str(LATEST).encode(), b"9" * 30, b"-1", b"", b" "]
)
texts = st.lists(st.one_of(st.lists(numbers, min_size=3, max_size=5).map(b",".join), st.binary(max_size=9)), max_size=9)


@given(texts, st.sampled_from([b"\n", b"\r\n"]), st.booleans())
def test_lines_are_read_as_python_reads_them(rows, end, ended):
    rows = [row.replace(b"\n", b"").replace(b"\r", b"") for row in rows]
    events, reasons = read(end.join([b"t,x,y,on", *rows]) + (end if ended else b""))
    assert events == [event for event in map(expected, rows) if event]
    assert sum(count for _, count in reasons) == sum(bool(row.strip(b" ")) and expected(row) is None for row in rows)


def test_a_line_that_is_not_valid_is_named():
    events, reasons = read(b"t,x,y,on\n10,1,2,1\n\x1b[31m,two\n12,1,2,0\n")
    assert events == [(10, 1, 2, 1), (12, 1, 2, 0)]
    assert reasons == [("here, line 3 is '\\x1b[31m,two': t,x,y,on are needed (us, pixels, 0 or 1), not 2 columns.", 1)]


def test_a_line_without_an_end_takes_no_memory():
    events, reasons = read(b"1,1,1,1\n" + b"9" * 5_000_000 + b"\n2,2,2,0\n")
    assert events == [(1, 1, 1, 1), (2, 2, 2, 0)]
    assert reasons == [("here, line 2 has more than 200 bytes.", 1)]


def test_many_events_keep_their_order():
    events, reasons = read(b"".join(b"%d,%d,%d,%d\n" % (i, i % 300, i % 200, i % 2) for i in range(100_000)))
    assert events == [(i, i % 300, i % 200, i % 2) for i in range(100_000)]
    assert reasons == []


def test_columns_are_known_by_their_names_and_others_are_an_error():
    assert read(b"x,y,t_ms,p\n1,2,3,-1\n") == ([(3000, 1, 2, 0)], [])
    assert read(b"1,2,3,1\n", columns="x,y,t,p") == ([(3, 1, 2, 1)], [])
    assert read(b"# a camera\n# of today\nx,y,t_ms,p\n1,2,3,-1\n") == ([(3000, 1, 2, 0)], [])
    events, reasons = read(b"% a camera\n1,2,3,1\ntwo\n")
    assert events == [(1, 2, 3, 1)]
    assert [reason[:14] for reason, _ in reasons] == ["here, line 3 i"]
    with pytest.raises(EventError, match="here has the columns 'a,b,c,d'"):
        read(b"a,b,c,d\n1,2,3,1\n")


def test_standard_input_is_read_as_it_comes():
    code = "from timesurf.io import camera\nfor p in camera.packets('-'): print(p['t'].tolist(), flush=True)"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        process.stdin.write("t,x,y,on\n10,1,2,1\n")
        assert process.stdout.readline() == "[10]\n"  # before the rest is written
        process.stdin.write("12,1,2,0\n")
        assert process.stdout.readline() == "[12]\n"
        process.stdin.close()
        assert process.wait(5) == 0
