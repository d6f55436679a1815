"""A training that is interrupted and resumed ends as one that never was, to the bit."""

import warnings

import numpy as np
import pytest

from timesurf import Network, SettingError
from timesurf.datasets import sentences
from timesurf.learning.checkpoints import Checkpoints
from timesurf.presets import SENTENCES

DATA = sentences.make(24, seed=0, duration="2 ms")
SHORT = sentences.make(8, seed=0, duration="200 us")  # the reference engine is slow
COURSES = {
    "online": {"passes": 3},
    "online, rates fall": {"passes": 2, "decay": True, "keep": 0.5},
    "batches": {"passes": 3, "batch_size": 5, "decay": True, "keep": 0.5},
    "validated": {"passes": 4, "batch_size": 5, "validation": 0.2, "patience": 3},
    "clipped": {"passes": 2, "batch_size": 5, "if_diverged": "clip"},
    "stepping back": {"passes": 2, "batch_size": 5, "if_diverged": "back"},
}
WILD = {"alpha": 3.0, "beta": 3.0}  # centroids diverge


class KilledError(Exception):
    pass


def network(course="", **options):
    made = SENTENCES.network(DATA, sentences.TASK1, 0, **options)
    if course in ("clipped", "stepping back"):
        from dataclasses import replace

        made.rule = replace(made.rule, **WILD)
    return made


def state(network):
    arrays = network.parameters.arrays
    return [array.tobytes() for array in arrays], network.history


def interrupted_after(reports):
    """Progress that ends the training at this report."""
    left = reports

    def progress(_):
        nonlocal left
        left -= 1
        if left == 0:
            raise KilledError

    return progress


@pytest.mark.parametrize("engine", ["cpu", "reference"])
@pytest.mark.parametrize("course", COURSES)
def test_resumed_training_ends_with_the_same_bits(tmp_path, course, engine):
    if engine == "reference" and course not in ("online, rates fall", "validated"):
        pytest.skip("slow, and the same loop")
    data = SHORT if engine == "reference" else DATA
    whole = network(course, engine=engine).fit(data, **COURSES[course])
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(40):
            checkpoints = Checkpoints(tmp_path, recordings=int(rng.integers(1, 12)), minutes=None, last=2)
            resumed = network(course, engine=engine, threads=int(rng.integers(1, 3)))
            try:
                resumed.fit(
                    data, **COURSES[course], checkpoints=checkpoints, resume=n > 0,
                    progress=interrupted_after(int(rng.integers(1, 9)) if n else 1),
                )  # fmt: skip
            except KilledError:
                assert len(checkpoints.files()) <= 2
            else:
                break
        else:
            pytest.fail("never came to an end")
    assert n > 0
    assert state(resumed) == state(whole)


def test_a_checkpoint_is_a_model(tmp_path):
    trained = network().fit(DATA, passes=1, checkpoints=tmp_path)
    (last,) = Checkpoints(tmp_path).files()
    assert Network.load(last).evaluate(DATA) == trained.evaluate(DATA)


def test_the_best_by_validation_is_kept(tmp_path):
    trained = network().fit(DATA, passes=3, validation=0.25, checkpoints=tmp_path)
    assert state(Network.load(tmp_path / "best.tsf"))[0] == state(trained)[0]


def test_of_many_the_last_are_kept(tmp_path):
    network().fit(DATA, passes=2, batch_size=3, checkpoints=Checkpoints(tmp_path, recordings=3, last=4))
    names = [path.name for path in Checkpoints(tmp_path).files()]
    assert names == [f"checkpoint-{n:012d}.tsf" for n in (48, 45, 42, 39)]


def test_a_new_training_does_not_go_on_from_an_old_one(tmp_path):
    network().fit(DATA, passes=2, checkpoints=tmp_path)
    (tmp_path / ".checkpoint-000000000024.tsf.abc").write_bytes(b"half")
    again = network().fit(DATA, passes=1, checkpoints=tmp_path)
    assert len(again.history) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "checkpoint-000000000024.tsf"]


def test_resume_without_checkpoints_begins(tmp_path):
    one = network().fit(DATA, passes=1, checkpoints=tmp_path / "new", resume=True)
    assert state(one) == state(network().fit(DATA, passes=1))


def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(tmp_path):
    whole = network().fit(DATA, passes=2, batch_size=4, checkpoints=Checkpoints(tmp_path, recordings=4, last=3))
    newest, before, _ = Checkpoints(tmp_path).files()
    content = bytearray(newest.read_bytes())
    content[-100] ^= 1
    newest.write_bytes(content)
    before.write_bytes(before.read_bytes()[:-7])
    with pytest.warns(UserWarning, match="Skipped a checkpoint"):
        resumed = network().fit(DATA, passes=2, batch_size=4, checkpoints=tmp_path, resume=True)
    assert state(resumed) == state(whole)


@pytest.mark.parametrize(
    ("changed", "words"),
    [({"passes": 3}, "passes was 2 and is 3"), ({"decay": True}, "decay"), ({"batch_size": 4}, "batch_size")],
)
def test_other_settings_are_refused(tmp_path, changed, words):
    network().fit(DATA, passes=2, checkpoints=tmp_path)
    with pytest.raises(SettingError, match=f"Cannot resume: {words}"):
        network().fit(DATA, **{"passes": 2} | changed, checkpoints=tmp_path, resume=True)


def test_other_recordings_and_other_networks_are_refused(tmp_path):
    network().fit(DATA, passes=2, checkpoints=tmp_path)
    with pytest.raises(SettingError, match="recordings"):
        network().fit(sentences.make(24, seed=1, duration="2 ms"), passes=2, checkpoints=tmp_path, resume=True)
    with pytest.raises(SettingError, match="dtype"):
        network(dtype="float64").fit(DATA, passes=2, checkpoints=tmp_path, resume=True)


def test_a_disk_that_is_full_for_a_while_does_not_end_the_training(tmp_path, monkeypatch):
    whole = network().fit(DATA, passes=1)

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.warns(UserWarning, match="No space left"):
        one = network().fit(DATA, passes=1, checkpoints=tmp_path)
    assert state(one) == state(whole)
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_minutes_are_not_the_wall_clocks(tmp_path, monkeypatch):
    """Nor does a clock that is set back matter."""
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("time.time", lambda: 1e9 - now[0])
    checkpoints = Checkpoints(tmp_path, minutes=2)
    checkpoints.open(resume=False)
    assert not checkpoints.due(10)
    now[0] += 121
    assert checkpoints.due(10)
    with pytest.raises(SettingError):
        Checkpoints(tmp_path, last=0)


def test_what_diverges_is_stopped_clipped_or_taken_back():
    with pytest.raises(SettingError, match="diverged in layer"):
        network("clipped").fit(DATA, passes=2, batch_size=5)
    clipped = network("clipped").fit(DATA, passes=2, batch_size=5, if_diverged="clip")
    assert sum(line.get("clipped", 0) for line in clipped.history) > 0
    back = network("clipped").fit(DATA, passes=2, batch_size=5, if_diverged="back")
    assert back.history[-1]["pace"] < 1
    for one in (clipped, back):
        assert all(np.abs(c).max() < 1e3 for c in [u.centroids for u in one.parameters])
    with pytest.raises(SettingError, match="if_diverged"):
        network().fit(DATA, if_diverged="hope")


def test_what_diverges_at_any_pace_stops():
    wild = network("clipped")
    wild.rule = wild.rule.scaled(1e6)
    with pytest.raises(SettingError, match="diverged"):
        wild.fit(DATA, passes=1, batch_size=5, if_diverged="back")


def test_a_layer_that_falls_silent_is_reopened_by_clip():
    from dataclasses import replace

    silent = network()
    silent.rule = replace(silent.rule, gamma=0.0, delta=-30.0, competition=False)
    with pytest.raises(SettingError, match="fallen silent"):
        silent.fit(DATA, passes=1, batch_size=5)
    silent.fit(DATA, passes=1, batch_size=5, if_diverged="clip")
    assert silent.history[0]["clipped"] > 0
    assert silent.infer(DATA).kept[:, 0].sum() > 0
