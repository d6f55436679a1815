"""Whatever a user does with a network, in whatever order: parameters stay sane, frozen units stay, counts add up."""

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.examples import examples
from timesurf import Full, Network, Rule, Session, Tile
from timesurf.datasets import sentences

LAYERS = [
    Tile((5, 5), units=3, tau="2 ms"),
    Tile((3, 1), units=4, tau=1, feedback_tau=100),
    Full(tau=1, feedback_tau=10),
]
DATA = sentences.make(8, seed=0, duration="1 ms")
seeds = st.integers(0, 2**16)


class Use(RuleBasedStateMachine):
    """A network in a user's hands."""

    @initialize(seed=seeds, rate=st.sampled_from([1e-4, 1e-2]))
    def begin(self, seed, rate):
        rates = Rule(alpha=rate, beta=rate / 10, gamma=rate, delta=rate / 20)
        self.network = Network(LAYERS, DATA.field, 1, sentences.TASK1, rule=rates, seed=seed).start(DATA)
        self.frozen = None

    def some(self, seed):
        """A few recordings of the two sentences that every network knows."""
        return DATA[np.sort(np.random.default_rng(seed).permutation(len(DATA))[:3])]

    @rule(seed=seeds, batch_size=st.sampled_from([None, 2]))
    def learn(self, seed, batch_size):
        self.network.train(self.some(seed), passes=1, batch_size=batch_size)

    @rule(seed=seeds, cap=st.sampled_from([None, 1e-3]))
    def adapt(self, seed, cap):
        self.check_counts(self.network.adapt(self.some(seed), cap=cap))

    @rule(seed=seeds)
    def infer(self, seed):
        self.check_counts(self.network.infer(self.some(seed)))

    @rule(units=st.integers(0, 2))
    def extend(self, units):
        if len(self.network.classes) < 6:
            name = f"new {len(self.network.classes)}"
            recordings = DATA[:2].with_labels([name, name])
            self.network.extend(recordings, units=[units, units], classes=[name])
            self.note_frozen()

    @rule(layer=st.integers(0, 2))
    def freeze(self, layer):
        self.network.freeze(layer)
        self.note_frozen()

    @rule()
    def undo(self):
        self.network.restore(self.network.snapshot())

    @rule(seed=seeds, adapt=st.booleans())
    def stream(self, seed, adapt):
        (events,) = self.some(seed)[0].to_structured()
        session = Session(self.network, adapt=adapt)
        came = sum(len(session.push(events[i : i + 40]).events) for i in range(0, len(events), 40))
        assert came == session.votes.sum() <= session.events == len(events)
        if adapt:
            self.network = session.adapted()

    @rule()
    def save_and_load(self):
        with tempfile.TemporaryDirectory() as folder:
            self.network.save(Path(folder) / "m.tsf")
            again = Network.load(Path(folder) / "m.tsf")
        assert again.parameters.same(self.network.parameters)
        self.network = again

    def note_frozen(self):
        self.frozen = [
            (u.frozen.copy(), u.centroids[u.frozen], u.thresholds[u.frozen]) for u in self.network.parameters
        ]

    def check_counts(self, outcome):
        assert (outcome.kept <= outcome.events[:, None]).all()
        assert (np.diff(outcome.kept, axis=1) <= 0).all()
        np.testing.assert_array_equal(outcome.votes.sum(axis=1), outcome.kept[:, -1])

    @invariant()
    def parameters_are_sane(self):
        if hasattr(self, "network"):
            for c, th in zip(
                [u.centroids for u in self.network.parameters],
                [u.thresholds for u in self.network.parameters],
                strict=True,
            ):
                assert np.isfinite(c).all()
                assert (th >= 0).all()

    @invariant()
    def what_is_frozen_stays_to_the_bit(self):
        if getattr(self, "frozen", None) is not None:
            parameters = self.network.parameters
            for (mask, c, th), now_c, now_th in zip(
                self.frozen, [u.centroids for u in parameters], [u.thresholds for u in parameters], strict=True
            ):
                assert now_c[mask].tobytes() == c.tobytes()
                assert now_th[mask].tobytes() == th.tobytes()


TestUse = Use.TestCase
TestUse.settings = examples(60, stateful_step_count=20)
