"""Lines of a side channel teach a session."""

import socket
import time

import pytest

from tests.live.test_teaching import data, events_of, network  # noqa: F401
from timesurf import SettingError
from timesurf.live.commands import Teacher, lines_of
from timesurf.live.session import Session


@pytest.fixture
def teacher(network, data):  # noqa: F811
    session, said = Session(network, recent="1 s"), []
    session.push(events_of(data[0]))
    teacher = Teacher(session, [], said.append)
    teacher.said = said
    return teacher


def test_each_line_does_what_it_says(teacher):
    teacher.obey("label 3")
    assert teacher.label == 3  # the class itself, not its text
    teacher.obey("new dog")
    assert teacher.label == "dog"
    assert "dog" in teacher.session.network.classes
    teacher.obey("forget dog")
    assert (teacher.label, "dog" in teacher.session.network.classes) == (None, False)
    teacher.obey("undo 2")
    assert teacher.session.changes == 0
    teacher.obey("label 3")
    teacher.obey("label")
    assert teacher.label is None
    teacher.obey("  ")
    assert teacher.said == ["label: 3", "label: dog", "forget dog", "undo 2", "label: 3", "label: None"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("label cat", "none of"),
        ("new 3", "already"),
        ("undo", "0 changes"),
        ("undo x", "invalid"),
        ("sing", "are label"),
    ],
)
def test_what_is_not_possible_is_reported_and_changes_nothing(teacher, line, why):
    teacher.obey("label 1")
    before = teacher.session.adapted().parameters
    teacher.obey(line)
    assert why in teacher.said[-1]
    assert teacher.label == 1
    assert teacher.session.adapted().parameters.same(before)


def test_lines_are_obeyed_between_packets(teacher, data):  # noqa: F811
    packets = [events_of(data[1], 10**6), events_of(data[2], 2 * 10**6)]
    listening = Teacher(teacher.session, iter(["label 1"]), lambda _: None)
    deadline = time.monotonic() + 10
    while not listening._waiting and time.monotonic() < deadline:
        time.sleep(0.01)
    labels = [listening.label for _ in listening.between(packets)]
    assert labels == [1, 1]


def test_datagrams_hold_lines():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    lines = lines_of(f"udp://127.0.0.1:{port}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"label 9\nundo", ("127.0.0.1", port))
    assert [next(lines), next(lines)] == ["label 9", "undo"]
    lines.close()
    for wrong in ("tcp://localhost:1", "udp://localhost", "udp://127.0.0.1:99999"):
        with pytest.raises(SettingError):
            lines_of(wrong)
