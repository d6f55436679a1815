"""However a stream is delivered, in packets of any size, the log has the same lines and drift is noticed alike."""

import json
import os

import numpy as np
import pytest

from timesurf import Network, Recordings, Session
from timesurf.bench import workloads
from timesurf.io import camera, npz
from timesurf.live.intake import Refusals, decisions
from timesurf.live.log import Log
from timesurf.live.watch import Watch

SECONDS, RATE = 10, 2_000  # events per second
CHANGE = 7_000_000  # us: from then on all events are at one place


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    data = workloads.strokes(4, events=300, field=(8, 8))
    network = workloads.started(workloads.NMNIST, data)
    for units in network.parameters:
        units.thresholds[:] = 2.5
    path = tmp_path_factory.mktemp("model") / "n.tsf"
    network.save(path)
    return path


@pytest.fixture(scope="module")
def events():
    rng, n = np.random.default_rng(0), SECONDS * RATE
    found = np.zeros(n, camera.DTYPE)
    found["t"] = np.sort(rng.integers(0, SECONDS * 1_000_000, n)) + 12_345
    found["x"], found["y"], found["p"] = *rng.integers(0, 8, (2, n)), rng.integers(0, 2, n)
    found["x"][found["t"] > CHANGE] = found["y"][found["t"] > CHANGE] = 7
    return found


def delivered(model, packets, folder, **how):
    """The log, what was said of drift, and what the session has learned."""
    session, said = Session(Network.load(model), vote_tau="100 ms", on_jump="restart"), []
    watch, refusals = Watch(session, adapt=True, report=said.append), Refusals()
    with Log(folder / "d.jsonl") as log:
        both = decisions(session, packets, refusals, until=lambda t: min(log.until(t), watch.until(t)), **how)
        for decision in both:
            watch.update(decision)
            log.add(session.latest, session.events, decision)
    learned = [units.centroids.tobytes() for units in session.adapted().parameters]
    return (folder / "d.jsonl").read_text("utf-8"), said, learned, refusals.count


def by_time(events, step):
    return np.split(events, np.flatnonzero(np.diff(events["t"] // step)) + 1)


def test_lines_alarms_and_what_is_learned_do_not_depend_on_packets(model, events, tmp_path):
    cuts = np.sort(np.random.default_rng(1).integers(0, len(events), 50))  # some packets are empty
    text, said, learned, _ = delivered(model, [events], tmp_path)
    for packets in (by_time(events, 5_000), np.array_split(events, 3), np.split(events, cuts), np.split(events, 20)):
        assert delivered(model, packets, tmp_path) == (text, said, learned, 0)
    lines = [json.loads(line) for line in text.splitlines()]
    times = np.array([line["t"] for line in lines])
    assert (np.diff(times)[:-1] >= 10_000).all()
    assert np.diff(times).max() < 20_000
    assert sum(line["events"] for line in lines) == len(events)
    assert len(said) == 1
    assert "adapting from here on" in said[0]
    before = Network.load(model).parameters
    assert any(now != units.centroids.tobytes() for now, units in zip(learned, before, strict=True))


def test_a_packet_that_is_not_valid_is_refused_as_a_whole_wherever_lines_are_due(model, events, tmp_path):
    wrong = events[10_000:12_000].copy()
    wrong["x"][1_500] = 99
    good = delivered(model, [events[:10_000], events[12_000:]], tmp_path)
    text, said, learned, refused = delivered(model, [events[:10_000], wrong, events[12_000:]], tmp_path)
    assert (text, said, learned, refused) == (*good[:3], 1)
    later = events[12_000:].copy()
    later["t"] += 5 * 3_600_000_000
    *_, refused = delivered(model, [events[:10_000], *np.split(later, 4)], tmp_path)
    assert refused == 1  # the second packet after the jump begins a new stream
    alone = np.delete(wrong, 1_500)
    assert delivered(model, [alone], tmp_path)[0] == delivered(model, [wrong], tmp_path, one_by_one=True)[0]


def test_what_a_session_accepts_is_found_without_a_change(model, events):
    session = Session(Network.load(model))
    session.take([events["x"][:100], events["y"][:100]], events["t"][:100])
    before = session.events, session.latest, session.votes.tolist()
    rows = {name: events[name][100:200].copy() for name in "xyt"}
    assert session.accepts([rows["x"], rows["y"]], rows["t"])
    assert not session.accepts([rows["x"], rows["y"] + 9], rows["t"])
    assert not session.accepts([rows["x"], rows["y"]], rows["t"][::-1].copy())
    assert not session.accepts([rows["x"], rows["y"]], rows["t"] - rows["t"][0])
    assert (session.events, session.latest, session.votes.tolist()) == before


def test_a_file_at_any_speed_and_standard_input_give_one_log_and_one_alarm(model, events, tmp_path, timesurf):
    coords = [events["x"].astype(int), events["y"].astype(int)]
    recording = Recordings(coords, events["t"], events["p"], field=(8, 8), polarities=2)
    camera.write(tmp_path / "a.csv", recording)
    npz.write(tmp_path / "a.npz", recording)

    def streamed(source, *options):
        files = "--log", tmp_path / "d.jsonl", "--out", tmp_path / "o.tsf", "--json", tmp_path / "s.json"
        code, said = timesurf("stream", model, "--from", source, *files, "--on-drift", "adapt", *options)
        assert code == 0, said
        lines = [json.loads(line) for line in (tmp_path / "d.jsonl").read_text("utf-8").splitlines()]
        learned = [units.centroids.tobytes() for units in Network.load(tmp_path / "o.tsf").parameters]
        return lines, json.loads((tmp_path / "s.json").read_text("utf-8"))["drift_alarms"], learned

    file = streamed(tmp_path / "a.csv")
    assert len(file[0]) > 90 * SECONDS
    assert file[1] == 1
    assert streamed(tmp_path / "a.csv", "--speed", "100") == file
    held = os.dup(0)
    with open(tmp_path / "a.csv", "rb") as text:
        os.dup2(text.fileno(), 0)
        try:
            assert streamed("-") == file
        finally:
            os.dup2(held, 0)
            os.close(held)
    lines, *others = streamed(tmp_path / "a.npz")  # whose times begin at 0
    first = int(events["t"][0])
    assert ([line | {"t": line["t"] + first} for line in lines], *others) == file
