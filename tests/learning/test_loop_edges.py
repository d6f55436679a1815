"""The loop over passes, validation and checkpoints where a comparison turns, on an engine that learns nothing."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from timesurf import Full, Network, Rule, SettingError
from timesurf.datasets import sentences
from timesurf.engines import Options, Outcome, Parameters
from timesurf.errors import DivergedError, ModelFileError
from timesurf.layers import stack
from timesurf.learning import together, trainer
from timesurf.learning.checkpoints import Checkpoints, read
from timesurf.learning.schedule import Schedule
from timesurf.learning.state import TrainingState
from timesurf.presets import SENTENCES

DATA = sentences.make(6, seed=0, duration="200 us")
STAGES = stack([Full(units=1, tau=1)], (), 1)


def parameters(value=0.0):
    return Parameters.of([np.full((1, 1), value)], [np.ones(1)]).copy()


class Still:
    """An engine that outputs half of the events, all on the first class, and notes what it is given."""

    def __init__(self):
        self.rules, self.sizes = [], []

    def supports(self, _, *, online=False):
        return ""

    def learn(self, stages, parameters, rule, batch, options):
        self.rules.append(rule)
        self.sizes.append(len(batch.offsets) - 1)
        parameters[0].centroids += 1 / 1024
        return outcome(np.diff(batch.offsets))

    learn_online = learn_batch = learn


def outcome(events, classes=2):
    votes = np.zeros((len(events), classes), int)
    votes[:, 0] = events // 2
    return Outcome(events, (events // 2)[:, None], votes)


def kept(counts):
    """The share that `Still` outputs of these recordings."""
    return ((counts // 2) / counts).mean()


def trainee(engine=None, **options):
    labels = np.array([0, 1, -1, 0, 1, 0])
    made = {
        "stages": STAGES, "parameters": parameters(), "history": [], "rule": Rule(), "engine": engine or Still(),
        "options": Options(), "seed": 3, "class_numbers": lambda some: labels[: len(some)],
    }  # fmt: skip
    return SimpleNamespace(**made | options)


# ------------------------------------------------------------------ turns


def test_orders_are_drawn_from_the_seed_and_the_passes_so_far():
    for history in ([], [{}, {}]):
        expected = np.random.default_rng([3, 1 + len(history)]).bit_generator.state
        assert trainer.shuffler(trainee(history=history)).bit_generator.state == expected
    assert trainer.shuffler(trainee(seed=None)) is not None


def test_passes_that_are_done_draw_their_order_all_the_same():
    rng = np.random.default_rng(0)
    orders = [rng.permutation(6) for _ in range(3)]
    found = list(trainer.turns(trainee(), DATA, Schedule(3), np.random.default_rng(0), done=1))
    assert [(turn.number, turn.before, turn.total) for turn in found] == [(2, 6, 18), (3, 12, 18)]
    for turn, order in zip(found, orders[1:], strict=True):
        assert turn.learner.recordings.counts.tolist() == DATA.counts[order].tolist()
    (one,) = trainer.turns(trainee(), DATA, Schedule(1), None)
    assert one.learner.recordings is DATA


def test_the_share_kept_begins_as_the_last_pass_ended():
    for history, kept in (([], 1.0), ([{"kept": 0.2}, {"kept": 0.7}], 0.7)):
        (turn,) = trainer.turns(trainee(history=history), DATA, Schedule(1), None)
        assert turn.learner.kept == kept


def test_a_report_is_of_its_part_and_the_mean_over_networks():
    turn = list(trainer.turns(trainee(), DATA, Schedule(2), None))[1]
    of = [
        Outcome(np.array([8, 4]), np.array([[6], [6]]), np.array([[3, 3], [6, 0]])),
        Outcome(np.array([8, 4]), np.array([[3], [0]]), np.array([[3, 0], [0, 0]])),
    ]
    report = turn.progress(slice(2, 9), of, [np.array([0, 0])] * 2)
    assert (report.done, report.total, report.events) == (6 + 2 + 2, 12, 24)
    assert report.event_accuracy == pytest.approx(((0.5 + 1) / 2 + (1 + 0) / 2) / 2)  # means over recordings
    assert report.kept == pytest.approx(((6 / 8 + 6 / 4) / 2 + (3 / 8 + 0) / 2) / 2)


# ------------------------------------------------------------------ passes


def test_a_pass_goes_on_where_it_stopped():
    engine, seen = Still(), []
    one = trainee(engine)
    state = TrainingState(done=4, outcomes=[outcome(DATA.counts[:4])], kept=0.25, passes=1)
    schedule = Schedule(2, batch_size=2, keep=0.3)
    reports = []
    found = list(
        trainer.passes(
            one, DATA, schedule, None, state=state, progress=reports.append,
            reached=lambda: seen.append((state.done, len(state.outcomes), state.kept)),
        )
    )  # fmt: skip
    assert engine.sizes == [2]
    assert not engine.rules[0].competition  # a quarter is less than 0.3
    assert seen == [(6, 2, pytest.approx(0.25 + trainer.KEPT_WEIGHT * (kept(DATA.counts[4:]) - 0.25)))]
    assert [(one.done, one.total) for one in reports] == [(12, 12)]
    assert [done.number for done in found] == [2]
    assert found[0].parameters is one.parameters
    assert one.history == [found[0].figures]
    assert found[0].figures["recordings"] == 6
    assert found[0].figures["kept"] == pytest.approx(kept(DATA.counts))
    assert (state.passes, state.done, state.kept, state.outcomes) == (2, 0, None, [])


def test_the_share_kept_moves_from_part_to_part():
    state, seen = TrainingState(), []
    one = trainee(history=[{"kept": 0.9}])
    for _ in trainer.passes(
        one, DATA, Schedule(1, 4), None, state=state, reached=lambda: seen.append((state.done, state.kept))
    ):
        pass
    first = 0.9 + trainer.KEPT_WEIGHT * (kept(DATA.counts[:4]) - 0.9)
    second = first + trainer.KEPT_WEIGHT * (kept(DATA.counts[4:]) - first)
    assert seen == [(4, pytest.approx(first)), (6, pytest.approx(second))]


def test_accuracies_of_a_pass_leave_unlabelled_recordings_out():
    one = trainee()
    trainer.once(one, DATA, 2, None)
    assert one.history[0]["event_accuracy"] == pytest.approx(3 / 5)  # of class 0 are three of the five with a label
    assert set(one.history[0]) == {"recordings", "event_accuracy", "kept"}


class Wild(Still):
    """Diverges at full rates."""

    def learn(self, stages, parameters, rule, batch, options):
        found = super().learn(stages, parameters, rule, batch, options)
        if rule.alpha > Rule().alpha / 3:
            parameters[0].centroids[:] = 1e6
        return found

    learn_online = learn_batch = learn


def test_training_goes_back_to_the_beginning_of_the_pass_at_half_the_rates():
    engine = Wild()
    one = trainee(engine, parameters=parameters(0.5))
    state = TrainingState()
    for _ in trainer.passes(one, DATA, Schedule(2, 3), None, if_diverged="back", state=state):
        pass
    assert engine.sizes == [3] * 6  # two that diverge at once, then two passes
    assert [rule.alpha for rule in engine.rules] == [Rule().alpha * f for f in (1, 0.5, 0.25, 0.25, 0.25, 0.25)]
    assert [figures["pace"] for figures in one.history] == [0.25, 0.25]
    assert one.parameters[0].centroids[0, 0] == 0.5 + 4 / 1024
    assert state.good[0].centroids[0, 0] == 0.5 + 2 / 1024  # as the last pass began
    assert "clipped" not in one.history[0]


def test_what_has_diverged_is_clipped_and_counted_pass_by_pass():
    one = trainee(Wild())
    for _ in trainer.passes(one, DATA, Schedule(2, 3), None, if_diverged="clip"):
        pass
    assert [figures["clipped"] for figures in one.history] == [2, 2]
    assert "pace" not in one.history[0]
    with pytest.raises(DivergedError):
        trainer.once(trainee(Wild()), DATA, 3, None)


# ------------------------------------------------------------------ whole passes, side by side


class Whole(Still):
    """Takes whole passes."""

    def learn_pass(self, learners, parts, rules, options, *, keep=None, report=None):
        self.given = parts, rules, keep, options
        for part in parts:
            if report:
                report(part, [outcome(learner.recordings.counts[part]) for learner in learners])
        for n, learner in enumerate(learners):
            learner.parameters[0].centroids += n + 1
        return [outcome(learner.recordings.counts) for learner in learners]


def test_networks_side_by_side_have_rates_of_their_own_that_fall():
    engine, reports = Whole(), []
    two = [trainee(engine, rule=Rule(alpha=alpha), seed=seed) for alpha, seed in ((0.1, 0), (0.2, 1))]
    how = {"passes": 2, "batch_size": 4, "decay": True, "keep": 0.5}
    assert together.train(two, DATA, **how, progress=reports.append) == [None, None]
    parts, rules, keep, options = engine.given  # of the second pass
    assert [(part.start, part.stop) for part in parts] == [(0, 4), (4, 8)]
    assert [[rule.alpha for rule in each] for each in rules] == [
        pytest.approx([0.1 * 6 / 12, 0.1 * 2 / 12]), pytest.approx([0.2 * 6 / 12, 0.2 * 2 / 12]),
    ]  # fmt: skip
    assert (keep, options) == (0.5, two[0].options)
    assert [report.done for report in reports] == [4, 6, 10, 12]
    assert [float(one.parameters[0].centroids[0, 0]) for one in two] == [2, 4]
    assert [len(one.history) for one in two] == [2, 2]
    assert two[0].history[0]["recordings"] == 6
    assert together.train([trainee(engine)], DATA, batch_size=4) == [None]
    assert engine.given[2] is None


def test_a_single_network_takes_whole_passes_in_batches_only():
    one = trainee(Whole())
    trainer.once(one, DATA, 4, None)
    assert one.parameters[0].centroids[0, 0] == 1
    trainer.once(one, DATA, None, None)
    assert one.engine.sizes == [6]


def test_one_of_several_may_diverge():
    engine = Whole()
    two = [trainee(engine), trainee(engine, parameters=parameters(1e6))]
    first, second = together.train(two, DATA, passes=1, batch_size=4)
    assert first is None
    assert "diverged" in second
    with pytest.raises(SettingError, match="0 selections of recordings for 0 networks"):
        together.train([], DATA, batch_size=4)
    with pytest.raises(SettingError, match="network 1 differs"):
        together.train([trainee(engine), trainee(engine, options=Options("float32"))], DATA, batch_size=4)


# ------------------------------------------------------------------ the best pass


def trained(accuracies, tmp_path=None, **how):
    """A network whose passes have these accuracies, and its parameters after each."""
    network = SENTENCES.network(DATA, sentences.TASK1, 0).start(DATA)
    left, after = list(accuracies), []

    def evaluate(_):
        after.append(network.snapshot())
        return {"recording_accuracy": left[len(after) - 1]}

    network.evaluate = evaluate
    network.train(DATA, **{"passes": len(accuracies), "validation": DATA, "batch_size": 3} | how)
    return network, after


@pytest.mark.parametrize(
    ("accuracies", "patience", "passes", "best"),
    [
        ([0.5, 0.4, 0.4], None, 3, 1), ([0.5, 0.5, 0.4], None, 3, 2), ([0.0, 0.0], None, 2, 2),
        ([0.5, 0.5, 0.5, 0.9], 2, 3, 3), ([0.5, 0.6, 0.5, 0.6, 0.6, 0.9], 3, 5, 5), ([0.5, 0.4, 0.9], 1, 2, 1),
    ],
)  # fmt: skip
def test_the_best_pass_of_equals_the_last_and_patience_from_the_first(tmp_path, accuracies, patience, passes, best):
    network, after = trained(accuracies, patience=patience, checkpoints=tmp_path)
    assert [line["validation_accuracy"] for line in network.history] == accuracies[:passes]
    assert network.parameters.same(after[best - 1])
    assert Network.load(tmp_path / "best.tsf").parameters.same(after[best - 1])
    again, _ = trained(accuracies, patience=patience, checkpoints=tmp_path, resume=True)  # nothing is left to do
    assert again.parameters.same(network.parameters)
    assert len(again.history) == passes


def test_patience_needs_a_pass_and_a_limit():
    assert not TrainingState().out_of_patience(0)
    assert TrainingState(passes=1).out_of_patience(1)
    assert not TrainingState(passes=9).out_of_patience(None)
    assert TrainingState(passes=3, best_pass=1).out_of_patience(2)
    assert not TrainingState(passes=3, best_pass=1).out_of_patience(3)


def test_a_training_without_validation_writes_no_best(tmp_path):
    SENTENCES.network(DATA, sentences.TASK1, 0).start(DATA).train(DATA, passes=1, checkpoints=tmp_path)
    assert not (tmp_path / "best.tsf").exists()


# ------------------------------------------------------------------ checkpoints


@pytest.mark.parametrize(
    ("bad", "good"),
    [({"last": 0}, {"last": 1}), ({"recordings": 0}, {"recordings": 1}), ({"minutes": -0.1}, {"minutes": 0})],
)
def test_limits_of_checkpoints(tmp_path, bad, good):
    Checkpoints(tmp_path, **good)
    with pytest.raises(SettingError, match="at least 1"):
        Checkpoints(tmp_path, **bad)
    with pytest.raises(SettingError):
        Checkpoints(tmp_path, minutes=math.nan)


def test_a_checkpoint_is_due_after_so_many_recordings_or_minutes(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    network = SENTENCES.network(DATA, sentences.TASK1, 0).start(DATA)
    often = Checkpoints(tmp_path, recordings=5, minutes=None)
    assert often.due(5)
    often.open(resume=False)
    assert [often.due(n) for n in (4, 5)] == [False, True]
    often.write(5, network, {}, TrainingState(dict(np.random.default_rng(0).bit_generator.state)))
    assert [often.due(n) for n in (9, 10)] == [False, True]
    now[0] += 1e6
    assert not often.due(9)
    slow = Checkpoints(tmp_path)
    slow.open(resume=True)
    assert slow.minutes == 5
    now[0] += 299
    assert not slow.due(10**6)
    now[0] += 1
    assert slow.due(0)
    slow.write(7, network, {}, TrainingState(dict(np.random.default_rng(0).bit_generator.state)))
    assert not slow.due(0)
    assert len(slow.files()) == 2
    often.open(resume=False)
    assert often.files() == []


ORDER = dict(np.random.default_rng(0).bit_generator.state)


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"passes": -1}, "passes = -1 is no count"), ({"clipped": True}, "clipped = True is no count"),
        ({"best_pass": 2**62}, "is no count"), ({"done": 1.0}, "is no count"), ({"kept": 1.01}, "kept = 1.01"),
        ({"pace": None}, "pace = None is no share"), ({"best_accuracy": -1.01}, "is no share"),
        ({"best_accuracy": "1"}, "is no share"), ({"order": {}}, "in which order"), ({"done": 2}, "lacks the outcome"),
        ({"done": 2, "outcomes": [outcome(np.array([5]))]}, "lacks the outcome"),
        ({"done": 1, "outcomes": [replace(outcome(np.array([5])), votes=np.array([1]))]}, "lacks the outcome"),
    ],
)  # fmt: skip
def test_a_checkpoint_with_numbers_that_cannot_be_is_refused(tmp_path, changed, word):
    network = SENTENCES.network(DATA, sentences.TASK1, 0).start(DATA)
    Checkpoints(tmp_path).write(1, network, {}, TrainingState(**{"order": ORDER} | changed))
    with pytest.raises(ModelFileError, match=word):
        read(Checkpoints(tmp_path).files()[0])


def test_a_checkpoint_with_numbers_at_their_limits_is_read(tmp_path):
    network = SENTENCES.network(DATA, sentences.TASK1, 0).start(DATA)
    limits = {"passes": 2**62 - 1, "kept": 1.0, "pace": 1, "best_accuracy": -1.0, "clipped": 0, "best_pass": 0}
    whole = {"done": 2, "outcomes": [outcome(np.array([5, 6]))]}
    Checkpoints(tmp_path).write(1, network, {"how": 1}, TrainingState(order=ORDER, **limits, **whole))
    about, _, state = read(Checkpoints(tmp_path).files()[0])
    assert {name: getattr(state, name) for name in limits} == limits
    assert state.outcomes[0].events.tolist() == [5, 6]
    assert state.outcomes[0].votes.tolist() == [[2, 0], [3, 0]]
    assert about["how"] == {"how": 1}


def test_more_passes_than_were_asked_for_are_refused(tmp_path):
    network = SENTENCES.network(DATA, sentences.TASK1, 0).start(DATA)
    checkpoints = Checkpoints(tmp_path)
    for done in (2, 3):
        checkpoints.write(done, network, {"passes": 2}, TrainingState(order=ORDER, passes=done))
        if done == 2:
            assert checkpoints.resume(network, {"passes": 2}).passes == 2
    with pytest.raises(ModelFileError, match="more passes are done"):
        checkpoints.resume(network, {"passes": 2})


class KilledError(Exception):
    pass


def test_a_network_that_had_been_trained_before_is_resumed_in_its_own_order(tmp_path):
    def network(passes_before):
        made = SENTENCES.network(DATA, sentences.TASK1, 0).start(DATA)
        made.history = [{"kept": 1.0}] * passes_before
        return made

    def killed(report):
        if report.done == 9:
            raise KilledError

    how = {"passes": 2, "batch_size": 3}
    whole = network(2).train(DATA, **how)
    often = Checkpoints(tmp_path, recordings=3, minutes=None, last=9)
    with pytest.raises(KilledError):
        network(2).train(DATA, **how, checkpoints=often, progress=killed)
    assert [path.name for path in often.files()] == [f"checkpoint-{n:012d}.tsf" for n in (9, 6, 3)]
    resumed = network(0).train(DATA, **how, checkpoints=often, resume=True)
    assert resumed.parameters.same(whole.parameters)
    assert resumed.history == whole.history
    assert often.files()[0].name == "checkpoint-000000000012.tsf"
