"""Networks and inference where a comparison turns: sizes, numbers of layers, labels, parts, copies."""

from types import SimpleNamespace

import numpy as np
import pytest

from timesurf import EventError, Full, Network, Recordings, Rule, SettingError, Tile, Window, engines, inference
from timesurf.datasets import sentences
from timesurf.engines import Options
from timesurf.learning.knobs import LAW
from timesurf.learning.law import Law
from timesurf.presets import SENTENCES

DATA = sentences.make(6, seed=0, duration="300 us")
OTHER = Recordings([[0], [0]], [0], field=(3, 3))


@pytest.fixture(scope="module")
def started():
    return SENTENCES.network(DATA, sentences.TASK1, 0).start(DATA)


# ------------------------------------------------------------------ networks


def test_rates_for_another_number_of_layers_are_refused_at_once():
    with pytest.raises(SettingError, match="alpha"):
        Network([Full(tau=1)], (2,), 1, ["a"], rule=Rule(alpha=(0.1, 0.2)))


def test_a_network_keeps_its_settings_and_their_defaults():
    one = Network([Full(tau=1)], (2,), 1, ["a"])
    assert (one.dtype, one.threads, one.deterministic, one.seed, one.engine) == ("float32", None, False, 0, "cpu")
    assert (one.rule, one.history, one.started, one.law) == (Rule(), [], False, None)
    options = {"dtype": "float64", "threads": 3, "deterministic": True}
    assert Network([Full(tau=1)], (2,), 1, ["a"], **options).options == Options(**options)


def test_a_twin_has_all_settings_and_a_history_of_its_own(started):
    one = Network(
        started.layers, DATA.field, 1, started.classes, rule=Rule(d=0.3), threads=2, seed=7, deterministic=True
    )
    one.parameters, one.history = started.snapshot(), [{"kept": 1.0}]
    twin = one.twin(one.parameters)
    for name in ("rule", "engine", "dtype", "threads", "deterministic", "seed", "layers", "history"):
        assert getattr(twin, name) == getattr(one, name)
    twin.history.append({"kept": 0.5})
    assert len(one.history) == 1
    assert twin.infer(DATA).votes.tolist() == one.infer(DATA).votes.tolist()


def test_a_network_with_several_units_per_class_grows_by_as_many():
    one = Network([Tile((1,), units=2, tau=1), Full(units=6, units_per_class=3, tau=1)], (2,), 1, ["a", "b"])
    more = one.resized([5], ["a", "b", "c"])
    assert [stage.units for stage in more.stages] == [5, 9]
    open_ended = Network([Tile((1,), units=2, tau=1), Full(tau=1)], (2,), 1, ["a", "b"]).resized([3], list("abcd"))
    assert open_ended.layers[-1].units is None
    assert [stage.units for stage in open_ended.stages] == [3, 4]


def test_snapshots_are_copies_both_ways(started):
    one = started.twin(started.snapshot())
    before = one.snapshot()
    one.parameters[0].centroids[:] = 5
    assert not one.parameters.same(before)
    one.restore(before)
    one.parameters[0].thresholds[:] = 0
    assert not one.parameters.same(before)


def test_units_are_frozen_by_layer_and_by_unit(started):
    one = started.twin(started.snapshot())

    def frozen():
        return [units.frozen.tolist() for units in one.parameters]

    open_ = frozen()
    assert not any(map(any, open_))
    one.freeze(0, [1])
    assert frozen() == [[False, True, False], *open_[1:]]
    one.freeze(-1)
    assert frozen()[-1] == [True, True]
    one.freeze(0, frozen=False)
    assert frozen()[:-1] == open_[:-1]
    one.freeze()
    assert all(map(all, frozen()))
    with pytest.raises(SettingError, match="layers 0 to 2"):
        one.freeze(3)


def test_a_network_that_grows_takes_over_layers_classes_and_parameters(started):
    one = started.twin(started.snapshot())
    more = DATA.with_labels(["new"] * len(DATA))
    one.extend(more, units=[1, 2], classes=["new"])
    assert [len(units.thresholds) for units in one.parameters] == [stage.units for stage in one.stages] == [4, 8, 3]
    assert one.classes.tolist() == [*started.classes.tolist(), "new"]
    assert one.parameters[0].frozen.tolist() == [True, True, True, False]
    one.tighten(more, sample=3)
    assert [len(units.thresholds) for units in one.parameters] == [stage.units for stage in one.stages]
    assert one.infer(DATA).votes.shape == (6, 3)


def test_recordings_of_another_field_are_refused_everywhere(started):
    for call in (started.infer, started.trace, started.transform, started.surfaces, started.class_numbers):
        with pytest.raises(EventError, match="this network takes"):
            call(OTHER)
    two = Recordings(DATA.coords, DATA.t, np.zeros(len(DATA.t), int), DATA.offsets, field=DATA.field, polarities=2)
    with pytest.raises(EventError, match="this network takes"):
        started.infer(two)


def test_parts_of_learning_start_a_network_once(started):
    one = SENTENCES.network(DATA, sentences.TASK1, 0)
    one.partial_fit(DATA)
    assert len(one.history) == 1
    again = started.twin(started.snapshot()).partial_fit(DATA)
    assert again.parameters.same(one.parameters)
    again.partial_fit(DATA, batch_size=3)
    assert len(again.history) == 2


def test_what_is_asked_for_goes_before_what_the_data_chose(monkeypatch):
    asked = []
    monkeypatch.setattr("timesurf.network.best.fit", lambda _, __, settings: asked.append(settings))
    one = Network([Full(tau=1)], (2,), 1, ["a"])
    one.fit(DATA, passes=3)
    one.law = Law((), Rule(), {"passes": 9, "decay": True}, ())
    one.fit(DATA, passes=3)
    assert asked == [{"passes": 3}, {"passes": 3, "decay": True, "hidden": ()}]


def test_a_choice_from_the_data_knows_engine_threads_and_seed(monkeypatch):
    seen = {}

    def law(recordings, **options):
        seen.update(options)
        return Law((Full(tau=5),), Rule(alpha=(0.25,)), {}, ())

    monkeypatch.setattr("timesurf.network.law", law)
    one = Network.for_data(DATA, seed=4, threads=1, dtype="float64")
    assert seen == {"seed": 4, "threads": 1, "knobs": LAW}
    assert (one.layers, one.rule, one.dtype, one.law.layers) == (
        (Full(tau=5),),
        Rule(alpha=(0.25,)),
        "float64",
        one.layers,
    )
    assert one.classes.tolist() == DATA.classes.tolist()
    assert Network.for_data(DATA, classes=["a", "b", "c"]).classes.tolist() == ["a", "b", "c"]


# ------------------------------------------------------------------ sizes


def stage(layer, units, *shape):
    return SimpleNamespace(layer=layer, units=units, surface_shape=shape)


def test_networks_are_bounded_by_centroids_and_by_work_per_event():
    full, window = Full(tau=1), Window(3, units=1, tau=1)
    inference.check_size((stage(full, 1 << 13, 1 << 14), stage(window, 1 << 10, 1 << 13)))
    with pytest.raises(SettingError, match=r"Layer 2, 8,193 units.*134,234,112 centroid entries, 1\.0 GiB"):
        inference.check_size((stage(full, 1, 1), stage(full, (1 << 13) + 1, 1 << 14)))
    with pytest.raises(SettingError, match="8,396,800 multiplications per event; at most 8,388,608"):
        inference.check_size((stage(window, (1 << 10) + 1, 1 << 12, 2),))
    with pytest.raises(SettingError, match="Layer 1"):
        Network([Window(3, units=1 << 20, tau=1), Full(tau=1)], (9,), 5, ["a"])


@pytest.mark.parametrize(("layer", "number"), [(0, 0), (2, 2), (-1, 2), (-3, 0)])
def test_layers_count_from_either_end(layer, number):
    assert inference.layer_number((None,) * 3, layer) == number
    for beyond in (3, -4):
        with pytest.raises(SettingError, match="layers 0 to 2"):
            inference.layer_number((None,) * 3, beyond)


# ------------------------------------------------------------------ labels


def numbers(classes, labels):
    data = Recordings([[0] * len(labels)], np.zeros(len(labels), int), offsets=range(len(labels) + 1), field=(1,))
    return inference.class_numbers(np.array(classes), data.with_labels(labels) if labels is not None else data).tolist()


def test_labels_are_found_in_classes_of_any_order():
    assert numbers(["pen", "cup", "jar"], ["cup", "pen", "", "jar"]) == [1, 0, -1, 2]
    assert numbers([7, 3], [3, 7, -1]) == [1, 0, -1]
    unlabelled = Recordings([[0, 0]], [0, 0], offsets=[0, 1, 2], field=(1,))
    assert inference.class_numbers(np.array(["a"]), unlabelled).tolist() == [-1, -1]


@pytest.mark.parametrize("strange", ["ant", "dog", "zoo"])  # before, between and after the classes
def test_the_first_strange_label_is_named(strange):
    with pytest.raises(EventError, match=f"recording 2 has label {strange}"):
        numbers(["pen", "cup"], ["cup", "", strange, "zzz"])


# ------------------------------------------------------------------ parts


def slices(found):
    return [(part.start, part.stop) for part in found]


def test_parts_are_of_so_many_recordings_or_as_many_as_memory_allows():
    assert slices(inference.parts(DATA, 4)) == [(0, 4), (4, 8)]
    assert slices(inference.parts(DATA, None)) == [(0, 6)]
    asked = []
    many = SimpleNamespace(parts=lambda events: asked.append(events) or [slice(0, 9000), slice(9000, 9001)])
    assert slices(inference.parts(many, None)) == [(0, 4096), (4096, 8192), (8192, 9000), (9000, 9001)]
    list(inference.parts(many, None, 5))
    assert asked == [1 << 22, 5]


def test_events_of_a_layer_come_in_parts_as_at_once(started, monkeypatch):
    one = started.twin(started.snapshot())
    one.parameters[0].thresholds[:] = np.median(one.trace(DATA).distance[:, 0])  # not all pass
    for layer in (0, 1):
        whole = one.transform(DATA, layer)
        with monkeypatch.context() as patch:
            patch.setattr(inference, "_TRACED_AT_ONCE", 1)
            parts = one.transform(DATA, layer)
        assert 0 < len(whole.t) < len(DATA.t)
        assert parts.fingerprint() == whole.fingerprint()
        assert whole.labels.tolist() == DATA.labels.tolist()


def test_evidence_is_summed_in_parts_and_only_when_asked_for(started, monkeypatch):
    def infer(temperature, engine="cpu"):
        options = Options("float64", temperature=temperature)
        return inference.infer(engines.load(engine), started.stages, started.parameters, DATA, options)

    assert infer(0.0).evidence is None
    whole = infer(2.0, "reference").evidence
    monkeypatch.setattr(inference, "_EVENTS_AT_ONCE", 1)
    np.testing.assert_allclose(infer(2.0).evidence, whole)
