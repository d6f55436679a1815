"""Exported C learns as the reference does: with labels and without, and what it learned can be saved."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given

from tests.examples import examples
from tests.export.cases import learned, network_of, run, run_commands
from tests.random_networks import cases
from timesurf import Network, Window, presets
from timesurf.datasets import sentences
from timesurf.engines import reference
from timesurf.errors import SettingError
from timesurf.export.compiled import ADAPTING, DAMAGE, LABELLED, PUSH, RESET, RESTORE, SAVE, commands

pytestmark = pytest.mark.usefixtures("any_cc")


@given(case=cases(most_layers=3, several=False))
@examples(8)
def test_same_parameters_as_the_reference(case):
    """Random rates, kernels, competition, frozen units; in float64 rounding tips nothing."""
    case = replace(case, rule=replace(case.rule, last="sup3r"))
    network = network_of(case)
    assume(not all(units.frozen.all() for units in case.parameters))
    right = case.parameters.copy()
    outcome = reference.learn_online(case.stages, right, case.rule, case.batch)
    assume(all(np.abs(units.centroids).max() < 10 for units in right))
    ran, _ = run(network, case.recordings, label=case.batch.label, kind=LABELLED, learn=True, numbers="float64")
    assert (ran.passed == len(case.stages)).sum() == outcome.kept[:, -1].sum()
    for (centroids, thresholds), units in zip(learned(ran, network, np.float64), right, strict=True):
        np.testing.assert_allclose(centroids, units.centroids, atol=2e-6)
        finite = np.isfinite(units.thresholds)
        np.testing.assert_allclose(thresholds[finite], units.thresholds[finite], atol=2e-6)
        assert (thresholds[~finite] == 3e38).all()


@pytest.fixture(scope="module")
def trained():
    train = sentences.make(40, seed=0)
    network = presets.SENTENCES.network(train, train.classes, 0)
    return network.fit(train, passes=1)


@pytest.mark.parametrize("kind", [LABELLED, ADAPTING])
def test_sentences_in_float32_as_the_online_engine(trained, kind):
    """Closer than sums in float32 alone would be (1e-5): what rounding takes from a step is added to the next."""
    recordings = sentences.make(20, seed=1)
    network = trained.twin(trained.snapshot())
    ran, _ = run(network, recordings, label=network.class_numbers(recordings), kind=kind, learn=True)
    after = trained.twin(trained.snapshot())
    if kind == LABELLED:
        after.partial_fit(recordings)
    else:
        after.adapt(recordings)
    moved = np.abs(after.parameters[0].centroids - trained.parameters[0].centroids).max()
    assert moved > 1e-3
    for (centroids, thresholds), units in zip(learned(ran, network), after.parameters, strict=True):
        np.testing.assert_allclose(centroids, units.centroids, atol=2e-6)
        finite = np.isfinite(units.thresholds)
        np.testing.assert_allclose(thresholds[finite], units.thresholds[finite], atol=2e-6)


def test_what_was_learned_is_saved_restored_and_checked(trained):
    """Saved, changed by more learning, restored: decides as before. Damaged bytes are refused."""
    recordings = sentences.make(2, seed=2)
    label = trained.class_numbers(recordings)
    taught, _ = commands(recordings, label, LABELLED)
    asked, _ = commands(recordings)

    def row(command, value=0):
        return np.array([[command, 0, 0, 0, 0, 0, value]], np.int32)

    table = np.concatenate(
        [taught, row(SAVE), asked, taught, taught, row(RESTORE), asked, row(DAMAGE, 77), row(RESTORE)]
    )
    ran = run_commands(trained, table, learn=True)
    first = len(taught) + 1
    again = first + len(asked) + 2 * len(taught) + 1
    assert ran.code[again - 1] == 0
    np.testing.assert_array_equal(ran.code[first : first + len(asked)], ran.code[again : again + len(asked)])
    assert ran.code[-1] == -5
    assert len(ran.learned) > 8


def test_labels_that_are_no_class_are_refused(trained):
    row = [LABELLED, 0, 3, 2, 0, 0, 10]
    table = np.array([row, row, row, [PUSH, *row[1:]], [RESET] + [0] * 6])
    table[:3, 1] = 2, -2, -1
    assert run_commands(trained, table, learn=True).code[:2].tolist() == [-4, -4]
    assert (run_commands(trained, table, learn=True).code[2:4] >= -1).all()


def test_what_cannot_learn_in_c_is_refused_with_the_reason(trained):
    from timesurf import export

    with pytest.raises(SettingError, match="too small for int8"):
        export.prepared(trained, "net", learn=True, numbers="int8")
    delta = Network(trained.layers, (30, 5), 1, ["a", "b"], rule=replace(trained.rule, last="delta"))
    delta.parameters = trained.snapshot()
    with pytest.raises(SettingError, match="delta rule"):
        export.prepared(delta, "net", learn=True)
    big = Network([Window(41, units=2, tau=1.0)], (60, 60), 1, ["a", "b"])
    big.start(sentences_like(60), sample=2)
    with pytest.raises(SettingError, match="at most 1,024"):
        export.prepared(big, "net", learn=True)


def sentences_like(size):
    from timesurf.events import Recordings

    return Recordings([[1, 2], [1, 2]], [0, 1], offsets=[0, 1, 2], field=(size, size), labels=["a", "b"])
