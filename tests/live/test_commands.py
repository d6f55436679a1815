"""Lines of a side channel teach a session."""

import socket
import time

import pytest

from tests.live.test_teaching import data, events_of, network  # noqa: F401
from timesurf import Network, Rule, SettingError
from timesurf.bench import workloads
from timesurf.live import commands
from timesurf.live.commands import Teacher, lines_of
from timesurf.live.rehearsal import Rehearsal, rule_to_teach
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
    if socket.has_ipv6:
        lines = lines_of(f"udp://[::1]:{port}")
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"label 3", ("::1", port))
        assert next(lines) == "label 3"
        lines.close()
    for wrong in ("tcp://localhost:1", "udp://localhost", "udp://127.0.0.1:99999"):
        with pytest.raises(SettingError):
            lines_of(wrong)


def test_numbers_of_undo_and_names_of_several_words(teacher):
    teacher.obey("new big dog")
    assert teacher.label == "big dog"
    teacher.obey("  label   big dog ")
    assert teacher.label == "big dog"
    teacher.obey("new cat")
    teacher.obey("undo")
    classes = teacher.session.network.classes.tolist()
    assert ("big dog" in classes, "cat" in classes, teacher.label) == (True, False, None)
    for line in ("new", "forget"):
        teacher.obey(line)
        assert "commands are" in teacher.said[-1]
    said = len(teacher.said)
    teacher.obey("")
    assert len(teacher.said) == said


def waiting(session, lines, report, many):
    """A teacher for whom so many lines wait."""
    made = Teacher(session, lines, report)
    deadline = time.monotonic() + 10
    while len(made._waiting) + made.dropped < many and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(made._waiting) + made.dropped == many
    return made


def test_the_latest_lines_wait_and_are_obeyed_in_order(teacher):
    many = waiting(teacher.session, ["label 0", "label 0", "label 1", "label 3"] * 251, teacher.said.append, 1004)
    assert (len(many._waiting), many.dropped) == (1000, 4)
    many.apply()
    assert teacher.said[-1] == "4 lines were dropped: no more than 1,000 can wait."
    for _ in range(49):
        many.apply()
    assert len(teacher.said) == 1001  # what was dropped is said once
    assert teacher.said[:2] == ["label: 0", "label: 0"]
    assert teacher.said[-2:] == ["label: 1", "label: 3"]
    assert list(many.between([])) == []


def test_no_more_than_twenty_lines_are_obeyed_before_a_packet_and_those_left_are_counted(teacher):
    many = waiting(teacher.session, ["label 1"] * 70, teacher.said.append, 70)
    obeyed = [len(teacher.said) for _ in many.between([None, None])]
    assert obeyed == [20, 40]
    assert teacher.said[60:] == ["10 lines were not obeyed: the stream has ended."]


@pytest.fixture
def rehearsing(network, data):  # noqa: F811
    session, said = Session(network, recent="1 s"), []
    made = Teacher(session, [], said.append, Rehearsal(data[[0, 1, 2]]))
    made.said = said
    return made


def learned_from(network, *recordings):  # noqa: F811
    offline = network.twin(network.snapshot())
    for one in recordings:
        offline.partial_fit(one)
    return offline.parameters


def test_others_are_rehearsed_where_a_lesson_ends_and_undone_with_it(rehearsing, network, data):  # noqa: F811
    session = rehearsing.session
    rehearsing.obey("label 1")
    session.push(events_of(data[1]), rehearsing.label)
    rehearsing.obey("label 1")  # the same lesson
    assert session.adapted().parameters.same(learned_from(network, data[1]))
    rehearsing.obey("label 2")
    first = learned_from(network, data[1], data[0], data[2])
    assert session.adapted().parameters.same(first)
    rehearsing.obey("label")  # nothing was shown
    assert session.adapted().parameters.same(first)
    rehearsing.obey("label 2")
    session.push(events_of(data[2], 10**6), rehearsing.label)
    rehearsing.obey("label")
    assert session.adapted().parameters.same(
        learned_from(network, data[1], data[0], data[2], data[2], data[0], data[1])
    )
    rehearsing.obey("undo")
    assert session.adapted().parameters.same(first)
    rehearsing.obey("undo")
    assert session.adapted().parameters.same(network.parameters)


@pytest.mark.parametrize("line", ["new dog", "forget 4", "label"])
def test_every_end_of_a_lesson_is_rehearsed(rehearsing, network, data, line):  # noqa: F811
    rehearsing.obey("label 1")
    rehearsing.session.push(events_of(data[1]), rehearsing.label)
    rehearsing.obey(line)
    assert len(rehearsing.session.adapted().history) == len(network.history) + 3


@pytest.mark.parametrize("line", ["new 1", "forget cat", "undo 7", "label cat"])
def test_what_is_not_possible_ends_no_lesson(rehearsing, network, data, line):  # noqa: F811
    rehearsing.obey("label 1")
    rehearsing.session.push(events_of(data[1]), rehearsing.label)
    rehearsing.obey(line)
    assert rehearsing.label == 1
    assert rehearsing.session.adapted().parameters.same(learned_from(network, data[1]))


def test_the_last_lesson_is_rehearsed_at_the_end(rehearsing, network, data):  # noqa: F811
    rehearsing.obey("label 1")
    for packet in rehearsing.between([events_of(data[1])]):
        rehearsing.session.push(packet, rehearsing.label)
    learned = rehearsing.session.adapted().parameters
    assert learned.same(learned_from(network, data[1], data[0], data[2]))


def test_a_rehearsal_on_another_field_shows_nothing(network):  # noqa: F811
    other, session = workloads.strokes(2, events=30, field=(9, 9)), Session(network)
    session.forget(5)
    Rehearsal(other).after(session, 4, 0)
    assert len(session.adapted().history) == len(network.history)


def test_the_rule_is_ten_times_as_fast_only_where_the_delta_rule_is_rehearsed(network):  # noqa: F811
    delta = Network(network.layers, network.field, network.polarities, network.classes, rule=Rule(last="delta"))
    assert rule_to_teach(delta, rehearsed=True) == delta.rule.scaled(10)
    assert rule_to_teach(delta, rehearsed=False) == delta.rule
    assert rule_to_teach(network, rehearsed=True) == network.rule
    assert rule_to_teach(network, rehearsed=False, pace=3) == network.rule.scaled(3)
    for wrong in (0, -1, float("inf"), float("nan")):
        with pytest.raises(SettingError, match="above 0"):
            rule_to_teach(network, rehearsed=True, pace=wrong)


def test_a_flood_of_lines_starves_nothing(teacher):
    busy = waiting(teacher.session, ["label 1"], teacher.said.append, 1)
    busy.obey = lambda line: busy._waiting.append(line)  # one comes for each that is obeyed
    busy.apply()
    assert len(busy._waiting) == 1


def test_numbers_stay_numbers(teacher, data):  # noqa: F811
    session = teacher.session
    teacher.obey("new 9")
    assert teacher.label == 9
    assert session.network.classes.tolist() == [0, 1, 2, 3, 4, 5, 9]
    session.push(events_of(data[1], 10**6), label=teacher.label)
    assert set(session.adapted().evaluate(data)) >= {"recording_accuracy"}
    teacher.obey("label 03")
    assert teacher.label == 3
    teacher.obey("forget 9")
    assert session.network.classes.tolist() == [0, 1, 2, 3, 4, 5]
    teacher.obey("new dog")
    teacher.obey("new 7")  # beside a text
    assert session.network.classes.tolist() == ["0", "1", "2", "3", "4", "5", "dog", "7"]
    assert teacher.label == "7"
    teacher.obey("label 3")
    assert teacher.label == "3"
    teacher.obey("forget 3")
    assert "3" not in session.network.classes


def test_lines_of_standard_input_are_cut_where_they_are_too_long(monkeypatch):
    chunks = iter([b"label 1\nlab", b"el 2\n" + b"x" * 300 + b"\n" + b"y" * 300, b"y\nlast\nno end", b""])
    asked = []
    monkeypatch.setattr(commands.os, "read", lambda file, size: asked.append((file, size)) or next(chunks))
    assert list(lines_of("-")) == ["label 1", "label 2", "x" * 200, "y" * 200, "last", "no end"]
    assert asked == [(0, 4096)] * 4


@pytest.mark.parametrize("source", ["udp://:5000", "udp://localhost:x", "127.0.0.1:5000", "udp://127.0.0.1:"])
def test_other_sources_of_lines_are_refused(source):
    with pytest.raises(SettingError, match="commands come from"):
        lines_of(source)
