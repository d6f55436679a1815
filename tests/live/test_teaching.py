"""A live session learns from labels, grows and goes back: to the bit as the offline verbs on the same events."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.live.test_session import bounds
from tests.random_networks import cases
from timesurf import EventError, Network, Recordings, SettingError
from timesurf.bench import workloads
from timesurf.live.session import Session


@pytest.fixture(scope="module")
def data():
    return workloads.strokes(6, events=300, field=(8, 8))


@pytest.fixture(scope="module")
def network(data):
    return workloads.started(workloads.NMNIST, data)


def events_of(recording, later=0):
    (events,) = recording.to_structured()
    events = events.astype([(name, np.int64) for name in events.dtype.names])
    events["t"] += later
    return events


def network_of(case, precision):
    stages = case.stages
    classes, about = range(stages[-1].classes), {"rule": case.rule, "precision": precision, "seed": 0}
    network = Network([s.layer for s in stages], stages[0].field, stages[0].polarities, classes, **about)
    network.parameters = case.parameters
    return network


def in_precision(network, precision):
    """The same network, with distances in this precision."""
    about = {"rule": network.rule, "precision": precision, "seed": network.seed}
    made = Network(network.layers, network.field, network.polarities, network.classes, **about)
    return made.restore(network.parameters)


def show(session, one, later, rng, label=None):
    """Show a session a recording that begins at this time, in packets of random sizes."""
    for a, b in zip(*bounds(len(one.t), rng), strict=True):
        coords, t = [x[a:b] for x in one.coords], one.t[a:b].astype(np.int64) - int(one.t[0]) + later
        session.take(coords, t, one.p[a:b], label=label)


def extend(network, one, name, units):
    """What `Network.extend` makes of a network, with the old units as they were."""
    frozen = [units.frozen.copy() for units in network.parameters]
    network.extend(one.with_labels([name]), units=units, classes=[name], start="quick")
    for units, before in zip(network.parameters, frozen, strict=True):
        units.frozen[: len(before)] = before


PRECISIONS = pytest.mark.parametrize("precision", ["float64", "float32"])


@PRECISIONS
@given(cases(), st.integers(0, 2**32))
@examples(30)
def test_what_was_taught_is_that_of_partial_fit_and_adapt_for_any_cut(precision, case, seed):
    network, rng = network_of(case, precision), np.random.default_rng(seed)
    offline, session, later = network.twin(network.snapshot()), Session(network, adapt=True), 0
    for r, number in enumerate(case.batch.label):
        one = case.recordings[r]
        if len(one.t) == 0:
            continue
        label = None if number < 0 else int(number)
        session.cut()
        show(session, one, later, rng, label)
        later += int(one.t[-1] - one.t[0]) + 5
        if label is None:
            offline.adapt(one)
        else:
            offline.partial_fit(one.with_labels([label]))
    learned = session.adapted()
    assert learned.parameters.same(offline.parameters)
    np.testing.assert_equal(learned.history, offline.history)


@PRECISIONS
@given(cases(), st.integers(0, 2**32))
@examples(20)
def test_classes_are_added_as_by_extend_for_any_cut(precision, case, seed):
    network, rng = network_of(case, precision), np.random.default_rng(seed)
    offline, session = network.twin(network.snapshot()), Session(network, recent="10 ms")
    for r, one in enumerate(case.recordings):
        if len(one.t) == 0:
            continue
        name, units = 100 + r, rng.integers(0, 3, len(network.layers) - 1).tolist()
        session.cut()
        show(session, one, 2 * r * 10**6, rng)
        try:
            extend(offline, one, name, units)
        except EventError as error:  # too few events reach a layer
            with pytest.raises(EventError, match=str(error)):
                session.add_class(name, units=units)
            continue
        session.add_class(name, units=units)
        show(session, one, (2 * r + 1) * 10**6, rng, name)
        offline.partial_fit(one.with_labels([name]))
        learned = session.adapted()
        assert learned.classes.tolist() == offline.classes.tolist()
        assert learned.parameters.same(offline.parameters)


@PRECISIONS
def test_a_new_recording_begins_where_the_label_changes(network, data, precision):
    network = in_precision(network, precision)
    offline, session = network.twin(network.snapshot()), Session(network)
    for r, label in enumerate([3, None, 1]):
        session.push(events_of(data[r], r * 10**6), label=label)
        if label is not None:
            offline.partial_fit(data[r].with_labels([label]))
    learned = session.adapted()
    assert learned.parameters.same(offline.parameters)
    assert not learned.parameters.same(network.parameters)
    assert session.events == data.counts[:3].sum()
    assert session.first == data.t[0]


@PRECISIONS
def test_a_class_is_added_as_by_extend_and_learns(network, data, precision):
    network = in_precision(network, precision)
    offline, session = network.twin(network.snapshot()), Session(network, recent="1 s")
    session.push(events_of(data[0]), label=2)
    session.cut()
    session.push(events_of(data[1], 10**7))
    session.add_class("dog", units=[2])
    session.push(events_of(data[2], 2 * 10**7), label="dog")
    offline.partial_fit(data[0].with_labels([2]))
    extend(offline, data[1], "dog", [2])
    assert offline.partial_fit(data[2].with_labels(["dog"])).parameters.same(session.adapted().parameters)
    assert session.network.classes[-1] == "dog"
    session.push(events_of(data[0], 3 * 10**7), label=2)  # also by its number, although all names are texts now
    assert network.classes[-1] != "dog"  # the network that was given is not changed


@PRECISIONS
def test_a_lesson_goes_on_where_adapting_begins_in_the_middle_of_it(network, data, precision):
    network = in_precision(network, precision)
    offline, session, events = network.twin(network.snapshot()), Session(network), events_of(data[0])
    session.push(events[:200], label=3)
    session.start_adapting()
    session.push(events[200:], label=3)
    offline.partial_fit(data[0].with_labels([3]))
    assert session.adapted().parameters.same(offline.parameters)
    assert session.changes == 1
    session.push(events_of(data[1], 10**6))
    offline.adapt(data[1])
    assert session.adapted().parameters.same(offline.parameters)
    session.undo()
    session.undo()
    assert session.adapted().parameters.same(network.parameters)


@PRECISIONS
def test_old_units_that_rest_are_those_of_extend(network, data, precision):
    network = in_precision(network, precision)
    offline, session = network.twin(network.snapshot()), Session(network, recent="1 s")
    session.push(events_of(data[1]))
    session.add_class("dog", units=[2], freeze=True)
    session.push(events_of(data[2], 10**7), label="dog")
    offline.extend(data[1].with_labels(["dog"]), units=[2], classes=["dog"], start="quick")
    offline.partial_fit(data[2].with_labels(["dog"]))
    assert session.adapted().parameters.same(offline.parameters)


def test_adapting_that_begins_between_recordings_is_undone_with_the_next(network, data):
    session, started = Session(network), network.twin(network.snapshot())
    session.push(events_of(data[0]), label=3)
    session.cut()
    session.start_adapting()
    session.push(events_of(data[1], 10**6))
    session.undo()
    assert session.adapted().parameters.same(started.partial_fit(data[0].with_labels([3])).parameters)
    assert session.changes == 1


def test_an_empty_packet_begins_no_recording(network, data):
    session, events = Session(network), events_of(data[0])
    session.push(events)
    votes = session.votes
    assert len(session.push(events[:0], label=2).units) == 0
    session.take([events["x"][:0], events["y"][:0]], events["t"][:0], label=1)
    assert (session.changes, session.events, session.votes.tolist()) == (0, 300, votes.tolist())
    with pytest.raises(EventError, match="label 'cat' is none of"):
        session.push(events[:0], label="cat")
    session.push(events_of(data[1], 10**6), label=2)
    session.push(events[:0])
    session.push(events_of(data[2], 2 * 10**6), label=2)  # of the same recording
    assert session.changes == 1


def test_old_units_rest_only_if_asked(network, data):
    for freeze in (False, True):
        session = Session(network)
        session.add_class("dog", events_of(data[1]), freeze=freeze)
        assert all((units.frozen.sum() > 0) == freeze for units in session.adapted().parameters)


@PRECISIONS
def test_undo_goes_back_to_any_mark_to_the_bit(network, data, precision):
    network = in_precision(network, precision)
    session, states = Session(network, marks=4), []
    changes = [
        lambda t: session.push(events_of(data[0], t), label=1),
        lambda t: session.add_class("dog", events_of(data[1])),
        lambda t: session.push(events_of(data[2], t), label="dog"),
        lambda t: session.forget("dog"),
    ]
    for n, change in enumerate(changes):
        states.append(session.adapted())
        change(n * 10**6)
    for back in (1, 2, 1):
        session.undo(back)
        for _ in range(back):
            before = states.pop()
        now = session.adapted()
        assert now.parameters.same(before.parameters)
        assert now.classes.tolist() == before.classes.tolist()
        assert now.history == before.history
    assert session.changes == 0
    with pytest.raises(SettingError, match="there are 0 changes"):
        session.undo()
    again = Session(network)
    again.push(events_of(data[0]), label=1)
    session.push(events_of(data[0], 10**8), label=1)
    assert session.adapted().parameters.same(again.adapted().parameters)


@PRECISIONS
def test_forgetting_removes_the_units_of_a_class_alone(network, data, precision):
    network = in_precision(network, precision)
    session = Session(network)
    session.forget(3)
    learned = session.adapted()
    assert 3 not in learned.classes
    kept = [n for n in range(len(network.classes)) if network.classes[n] != 3]
    np.testing.assert_array_equal(learned.parameters[-1].centroids, network.parameters[-1].centroids[kept])
    assert session.push(events_of(data[0])).decision != 3


def test_what_is_refused_changes_nothing(network, data):
    session = Session(network)
    with pytest.raises(EventError, match="label 'cat' is none of"):
        session.push(events_of(data[0]), label="cat")
    session.push(events_of(data[0]), label=1)
    with pytest.raises(EventError, match="comes before"):
        session.push(events_of(data[0]), label=2)
    assert session.changes == 1
    with pytest.raises(SettingError, match="already"):
        session.add_class(1, events_of(data[0]))
    with pytest.raises(EventError, match="no recent events"):
        session.add_class("dog")
    offline = network.twin(network.snapshot()).partial_fit(data[0].with_labels([1]))
    assert session.adapted().parameters.same(offline.parameters)


def test_recent_events_are_those_of_a_short_window(network, data):
    session, held = Session(network, recent="1 ms"), events_of(data[0])
    for packet in np.array_split(held, 7):
        session.push(packet)
    late = held[held["t"] >= held["t"][-1] - 1000]
    given = Session(network)
    given.add_class("dog", late)
    session.add_class("dog")
    assert session.adapted().parameters.same(given.adapted().parameters)


@PRECISIONS
def test_what_is_rehearsed_is_learned_as_by_partial_fit_and_is_not_of_the_stream(network, data, precision):
    network = in_precision(network, precision)
    offline, session, other = network.twin(network.snapshot()), Session(network, recent="1 s"), Session(network)
    for one in (session, other):
        one.push(events_of(data[0], 10**6), label=2)
    session.rehearse(data[1], 1)
    session.rehearse(data[3], 3)
    about = session.events, session.first, session.latest, session.kept.tolist(), session.changes
    assert about == (other.events, other.first, other.latest, other.kept.tolist(), other.changes)
    session.push(events_of(data[2], 2 * 10**6))
    for r, label in ((0, 2), (1, 1), (3, 3)):
        offline.partial_fit(data[r].with_labels([label]))
    learned = session.adapted()
    assert learned.parameters.same(offline.parameters)
    assert learned.history == offline.history
    with pytest.raises(EventError, match="comes before"):
        session.push(events_of(data[2]))
    session.add_class("dog")  # from what the stream has shown
    extend(offline, data[2], "dog", [0])
    assert session.adapted().parameters.same(offline.parameters)
    session.undo(2)
    assert session.adapted().parameters.same(network.parameters)
    assert session.changes == 0


def test_what_is_rehearsed_first_is_a_change_and_what_is_refused_is_none(network, data):
    session = Session(network)
    for wrong, label, why in ((data[:2], 1, "not 2"), (data[0], "cat", "is none of"), (data[0], None, "is none of")):
        with pytest.raises(EventError, match=why):
            session.rehearse(wrong, label)
    late = Recordings(data[0].coords, data[0].t.astype(np.int64) * 10**9, None, [0, 300], field=(8, 8), polarities=1)
    with pytest.raises(EventError, match="jump"):
        session.rehearse(late, 1)
    assert (session.changes, session.events, session.first) == (0, 0, -1)
    assert session.adapted().parameters.same(network.parameters)
    session.rehearse(data[0], 1)
    assert session.changes == 1
    assert not session.adapted().parameters.same(network.parameters)
    session.undo()
    assert session.adapted().parameters.same(network.parameters)
    session.push(events_of(data[1]))
    assert session.first == data[1].t[0]


def test_a_class_starts_from_events_that_came_one_by_one_as_from_a_packet(network, data):
    whole, single = (Session(network, recent="1 s") for _ in range(2))
    events = events_of(data[0])
    whole.push(events)
    for event in events.tolist():
        one = dict(zip(events.dtype.names, event, strict=True))
        single.push_one(one["x"], one["y"], 0, one["t"])
    for session in (whole, single):
        session.add_class("dog")
    assert single.adapted().parameters.same(whole.adapted().parameters)


def test_single_events_take_the_short_way_also_where_the_latest_are_held(network, data, monkeypatch):
    session = Session(network, recent="1 s")
    monkeypatch.setattr(session, "_pass", None)
    session.push_one(1, 2, 0, 5)
    assert session.events == 1


def test_recent_events_of_another_clock_start_no_class(network, data):
    session, events = Session(network, recent="1 s", on_jump="restart", jump="1 s"), events_of(data[0])
    session.push(events_of(data[1], 10**8))
    for packet in (events[:100], events[:100]):
        try:
            session.push(packet)
        except EventError:  # the first after the clock was set back
            continue
    assert session.restarts == 1
    given = Session(network)
    given.add_class("dog", events[:100])
    session.add_class("dog")
    assert session.adapted().parameters.same(given.adapted().parameters)


def test_a_class_is_forgotten_by_its_number_although_all_names_are_texts(network, data):
    session = Session(network, recent="1 s")
    session.push(events_of(data[0]))
    session.add_class("dog")
    session.push(events_of(data[0], 10**6), label=3)
    session.forget(3)
    assert session.network.classes.tolist() == ["0", "1", "2", "4", "5", "dog"]
    with pytest.raises(SettingError, match="already"):
        session.add_class(2, events_of(data[0]))
    session.add_class(9, events_of(data[0]))
    assert session.network.classes[-1] == "9"


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (lambda session, data: session.push(events_of(data[0], 10**6), label=[1]), "no number and no text"),
        (lambda session, data: session.forget([1]), "no number and no text"),
        (lambda session, data: session.add_class([1], events_of(data[0])), "of type list"),
        (lambda session, data: session.add_class(None, events_of(data[0])), "of type NoneType"),
        (lambda session, data: session.add_class("3", events_of(data[0])), "already"),
        (lambda session, data: session.add_class(2.5, events_of(data[0])), "use integers or text"),
        (lambda session, data: session.add_class(-1, events_of(data[0])), "-1 stands for a label that is not known"),
        (lambda session, data: session.add_class("", events_of(data[0])), "'' stands for a label that is not known"),
        (lambda session, data: session.add_class("dog", data[:2]), "one recording, not 2"),
        (lambda session, data: session.add_class("dog", data[:0]), "one recording, not 0"),
        (lambda session, data: session.undo("x"), "must be a whole number"),
        (lambda session, data: session.undo(0.5), "must be a whole number"),
    ],
)
def test_what_is_not_possible_is_refused_with_a_reason_and_changes_nothing(network, data, asked, why):
    session = Session(network, recent="1 s")
    session.push(events_of(data[0]), label=1)
    before, classes, changes, votes = (
        session.adapted(),
        session.network.classes.tolist(),
        session.changes,
        session.votes,
    )
    with pytest.raises((EventError, SettingError), match=why):
        asked(session, data)
    assert session.adapted().parameters.same(before.parameters)
    assert (session.network.classes.tolist(), session.changes) == (classes, changes)
    assert session.votes.tolist() == votes.tolist()
    session.undo()
    assert session.adapted().parameters.same(network.parameters)


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ({"teach": True}, "teach = True must be a Rule"),
        ({"teach": 1}, "teach = 1 must be a Rule"),
        ({"teach": False}, "teach = False must be a Rule"),
        ({"marks": None}, "marks = None must be a whole number"),
        ({"marks": 2.5}, "marks = 2.5 must be a whole number"),
    ],
)
def test_settings_of_another_kind_are_refused(network, setting, why):
    with pytest.raises(SettingError, match=why):
        Session(network, **setting)
