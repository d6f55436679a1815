"""The preparation of events: the same on recordings, on a stream however it is cut, and from a model file."""

import json
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from timesurf import EventError, Full, Network, Recordings, SettingError, transforms
from timesurf.engines import Parameters
from timesurf.errors import ModelFileError
from timesurf.io import npz
from timesurf.transforms import filters, preparation
from timesurf.transforms.parts import in_stretches
from timesurf.transforms.preparation import Preparation, from_dict

EVERYTHING = Preparation(
    crop=(10, 6), corner=(2, 1), polarity="merge", hot_pixels=60, denoise="2 ms", downsample=(2, 3)
)
HOWS = [
    EVERYTHING,
    Preparation(crop=(9, 7)),
    Preparation(polarity="on", denoise="5 ms"),
    Preparation(polarity="off", downsample=4),
    Preparation(hot_pixels=20),
]


def events(seed=0, n=800):
    rng = np.random.default_rng(seed)
    x, y, p = rng.integers(0, 14, n), rng.integers(0, 9, n), rng.integers(0, 2, n)
    return Recordings([x, y], np.sort(rng.integers(0, 200_000, n)), p, field=(14, 9), polarities=2)


@pytest.mark.parametrize("how", HOWS, ids=str)
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 800), max_size=6))
@examples(8)
def test_a_stream_gives_the_events_of_the_whole_recording_however_it_is_cut(how, seed, cuts):
    whole = events(seed)
    (expected,) = how(whole).to_structured()
    prepare = how.on(whole.field, whole.polarities).stream()
    packets = [prepare(packet) for packet in np.split(whole.to_structured()[0], sorted(cuts))]
    np.testing.assert_array_equal(np.concatenate(packets), expected)
    assert 0 < len(expected) < 800 or how.downsample


@pytest.mark.parametrize("mapped", [False, True])
def test_long_recordings_go_through_in_stretches(mapped, monkeypatch, tmp_path):
    some = events(0, 300) + events(1, 40) + events(2, 500).with_labels([7])
    if mapped:
        npz.write(tmp_path / "some.npz", some)
        some = npz.read(tmp_path / "some.npz")
    for how in HOWS:
        whole = how(some)
        with monkeypatch.context() as small:
            small.setattr(preparation, "AT_ONCE", 64)
            small.setattr(preparation, "in_stretches", partial(in_stretches, events=64))
            long = how(some)
        assert long.counts.tolist() == whole.counts.tolist()
        assert long.labels.tolist() == [-1, -1, 7]
        for a, b in zip(long.to_structured(), whole.to_structured(), strict=True):
            assert a.tolist() == b.tolist()


def test_the_smallest_sensor_that_leads_to_a_field():
    assert Preparation(field=(9, 9), downsample=2).sensor((4, 4)) == (9, 9)
    assert Preparation(downsample=(2, 3)).sensor((4, 4)) == (8, 12)
    assert Preparation(denoise=5).sensor((4, 4)) == (4, 4)
    assert Preparation(crop=(8, 6), corner=(1, 2), downsample=2).sensor((4, 3)) == (9, 8)
    with pytest.raises(SettingError, match="its size is not known"):
        Preparation(crop=(8, 6)).sensor((8, 6))


def test_the_steps_come_in_the_order_that_is_documented():
    whole = events()
    step = transforms.merge_polarities(transforms.crop(whole, (2, 1), (10, 6)))
    step = transforms.downsample(transforms.denoise(transforms.hot_pixels(step, 60), "2 ms"), (2, 3))
    assert EVERYTHING(whole).t.tolist() == step.t.tolist()
    assert EVERYTHING(whole).field == step.field == (5, 2)


def test_the_middle_is_cropped_unless_a_corner_is_given():
    assert Preparation(crop=(10, 6)).on((14, 9), 1).corner == (2, 1)


def test_events_of_a_file_without_a_header_lie_on_the_sensor():
    few = Recordings([[3], [2]], t=[0], field=(4, 3))
    known = Preparation(field=(14, 9), polarities=2, downsample=2)
    assert (known(few).field, known(few).polarities) == ((7, 5), 2)


def test_a_packet_that_is_not_valid_changes_nothing():
    whole = events()
    (packet,) = whole.to_structured()
    prepare, other = (EVERYTHING.on(whole.field, 2).stream() for _ in range(2))
    stray = packet[:3].copy()
    stray["x"] = 14
    with pytest.raises(EventError, match="x = 14 is off the field"):
        prepare(stray)
    np.testing.assert_array_equal(prepare(packet), other(packet))


def test_a_clock_that_is_set_back_blocks_no_pixel():
    """A stray time in the far future must neither support nor heat what comes after."""
    late, now = np.full(2, 10**12), np.array([5, 6])
    for how, alone in ((Preparation(hot_pixels=10), 1), (Preparation(denoise="1 ms"), 0)):
        prepare = how.on((3,), 1).stream()
        for times in (late, now):
            packet = np.zeros(2, [("x", int), ("t", int), ("p", int)])
            packet["x"], packet["t"] = (0, 1), times
            kept = prepare(packet)
        assert kept["x"].tolist() == ([0, 1] if alone else [1])


@given(st.integers(0, 2**32 - 1), st.sampled_from([15.0, 40.0, 90.0]))
@examples(20)
def test_hot_pixels_against_a_plain_loop(seed, rate):
    whole = events(seed)
    count, last, expected = {}, {}, []
    for x, y, t in zip(*whole.coords, whole.t.tolist(), strict=True):
        decayed = count.get((x, y), 0.0) * np.exp((last.get((x, y), t) - t) / filters.RATE_TAU)
        count[x, y], last[x, y] = decayed + 1, t
        expected += [t] if decayed + 1 <= max(rate / 10, 1) else []
    assert transforms.hot_pixels(whole, rate).t.tolist() == expected


def test_downsampled_times_keep_one_event_per_pixel_polarity_and_step():
    whole = events()
    coarse = transforms.downsample(whole, 2, "10 ms")
    rows = list(zip(*coarse.coords, coarse.p, coarse.t, strict=True))
    all_rows = {
        (x // 2, y // 2, p, t // 10_000 * 10_000) for x, y, p, t in zip(*whole.coords, whole.p, whole.t, strict=True)
    }
    assert len(rows) == len(set(rows))
    assert set(rows) == all_rows
    assert (np.diff(coarse.t) >= 0).all()


def test_flipping_twice_changes_nothing():
    whole = events()
    for axis in (0, 1):
        once = transforms.flip(whole, axis)
        assert once.coords[axis].tolist() == [whole.field[axis] - 1 - x for x in whole.coords[axis]]
        np.testing.assert_array_equal(transforms.flip(once, axis).coords[axis], whole.coords[axis])


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"crop": (0, 3)}, "crop"),
        ({"crop": (3, 3), "field": (3,)}, "same number of dimensions"),
        ({"corner": (1, 1)}, "give crop as well"),
        ({"downsample": 0}, "downsample"),
        ({"downsample": (1 << 30, 1)}, "downsample"),
        ({"downsample": 1.5}, "downsample"),
        ({"field": (1 << 20, 1 << 20)}, "more than"),
        ({"field": [3] * 40}, "field"),
        ({"field": (1 << 14, 1 << 14), "denoise": 5}, "at most 67,108,864 of the 268,435,456 are accepted. Crop"),
        ({"polarity": "none"}, "polarity"),
        ({"polarities": True}, "polarities"),
        ({"hot_pixels": 0}, "hot_pixels"),
        ({"hot_pixels": "many"}, "hot_pixels"),
        ({"hot_pixels": float("nan")}, "hot_pixels"),
        ({"denoise": -1}, "denoise"),
        ({"denoise": "soon"}, "denoise"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_what_is_not_valid_in_a_model_file_is_refused(settings, why):
    with pytest.raises(SettingError, match=why):
        from_dict(settings)
    with pytest.raises(SettingError):
        from_dict([settings])


def test_what_does_not_fit_the_sensor_is_refused():
    for how in (Preparation(crop=(3,)), Preparation(downsample=(2, 2, 2)), Preparation(crop=(3, 3), corner=(14, 0))):
        with pytest.raises(SettingError):
            how(events())
    with pytest.raises(SettingError, match="2 polarities"):
        Preparation(polarity="on")(transforms.merge_polarities(events()))
    with pytest.raises(SettingError, match="size of the sensor"):
        Preparation(downsample=2).stream()


@pytest.mark.parametrize("how", [Preparation(), EVERYTHING.on((14, 9), 2)], ids=str)
def test_a_model_file_keeps_it(how, tmp_path):
    assert from_dict(json.loads(json.dumps(how.to_dict()))) == how
    prepared = how(events())
    network = Network([Full(tau=1000)], prepared.field, prepared.polarities, ["a"], preparation=how)
    network.start(prepared.with_labels(["a"]))
    network.save(tmp_path / "m.tsf")
    assert Network.load(tmp_path / "m.tsf").preparation == how
    assert network.twin(network.snapshot()).preparation == how


@pytest.mark.parametrize(
    ("accepted", "refused"),
    [
        ({"field": (1 << 20,)}, {"field": ((1 << 20) + 1,)}),
        ({"field": [1] * 32}, {"field": [1] * 33}),
        ({"field": 5}, {"field": ()}),
        ({"field": np.array([5, 4])}, {"field": "54"}),
        ({"crop": 1}, {"crop": 0}),
        ({"crop": 1, "corner": 0}, {"crop": 1, "corner": -1}),
        ({"downsample": 1}, {"downsample": True}),
        ({"polarities": 1}, {"polarities": 0}),
        ({"hot_pixels": 1}, {"hot_pixels": 0.99}),
        ({"hot_pixels": 1e6}, {"hot_pixels": 1e6 + 1}),
        ({"hot_pixels": np.float32(2)}, {"hot_pixels": True}),
        ({"field": (2**16, 2**15 - 1)}, {"field": (2**16, 2**15)}),
        ({"field": (2**13, 2**13), "denoise": 5}, {"field": (2**13, 2**13 + 1), "denoise": 5}),
        ({"field": (2**13, 2**13 + 1)}, {"field": (2**13, 2**13 + 1), "hot_pixels": 5}),
        ({"field": (2**14, 2**14), "crop": (9, 9), "hot_pixels": 5}, {"crop": (2**14, 2**14), "hot_pixels": 5}),
        ({"field": (3, 3), "downsample": 2}, {"field": (3, 3), "downsample": (2, 2, 2)}),
        ({"field": (3, 3), "downsample": (2, 2)}, {"field": (3, 3), "crop": (2, 2), "corner": (1, 1, 1)}),
    ],
)
def test_settings_up_to_their_ends(accepted, refused):
    Preparation(**accepted)
    with pytest.raises(SettingError):
        Preparation(**refused)


def test_numbers_become_plain_ones():
    how = Preparation(
        field=np.array([5, 4]), polarities=np.int8(2), crop=[3, 2], denoise="1 ms", downsample=np.int64(2)
    )
    assert json.loads(json.dumps(how.to_dict())) == {
        "field": [5, 4], "polarities": 2, "crop": [3, 2], "polarity": "both", "denoise": 1000, "downsample": [2],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("how", "text"),
    [
        (Preparation(), "none"),
        (Preparation(field=(9, 9)), "none"),
        (Preparation(crop=(8, 6), corner=(1, 2)), "crop 8x6 from 1,2"),
        (Preparation(polarity="off"), "off events"),
        (Preparation(hot_pixels=20, denoise=5), "hot pixels over 20 per second left out, denoise 5 us"),
        (Preparation(downsample=(2, 3)), "downsample 2x3"),
    ],
)
def test_what_it_says_of_itself_and_whether_it_changes_anything(how, text):
    assert str(how) == text
    assert how.changes == (text != "none")


def test_a_crop_larger_than_the_sensor_begins_at_0():
    assert Preparation(crop=(20, 4)).on((14, 9), 1).corner == (0, 2)
    assert Preparation(crop=(3, 3), corner=(13, 8)).on((14, 9), 1).corner == (13, 8)
    for corner in ((14, 0), (0, 9)):
        with pytest.raises(SettingError, match="is off the field"):
            Preparation(crop=(3, 3), corner=corner).on((14, 9), 1)


def test_each_polarity_alone():
    whole = events()
    for name, p in (("off", 0), ("on", 1)):
        alone = Preparation(polarity=name)(whole)
        assert (alone.t.tolist(), alone.polarities) == (whole.t[whole.p == p].tolist(), 1)
    with pytest.raises(SettingError, match="these have 3"):
        Preparation(polarity="off").on((14, 9), 3)


def test_a_larger_sensor_is_taken_and_a_smaller_one_is_not():
    few = Recordings([[3], [2]], t=[0], p=[1], field=(4, 3), polarities=2)
    for known, field, polarities in (
        (Preparation(field=(4, 9)), (4, 9), 2),
        (Preparation(field=(14, 2)), (4, 3), 2),
        (Preparation(polarities=3), (4, 3), 3),
        (Preparation(polarities=1), (4, 3), 2),
        (Preparation(field=(9, 9, 9)), (4, 3), 2),
    ):
        assert (known(few).field, known(few).polarities) == (field, polarities)


def test_packets_need_places_and_times_and_polarities_only_where_the_sensor_has_some():
    packet = np.zeros(2, [("x", int), ("t", int), ("p", int)])
    packet["p"] = 1
    for polarities, ps in ((1, [0, 0]), (2, [1, 1])):
        prepare = Preparation(crop=(2,)).on((3,), polarities).stream()
        packet["x"] = 1
        assert prepare(packet)["p"].tolist() == ps
        assert prepare(packet[["x", "t"]])["x"].tolist() == [1, 1]
        for names in (["x", "p"], ["t", "p"]):
            with pytest.raises(EventError, match="needs the fields x and t"):
                prepare(packet[names])


def test_sensors_that_one_factor_leads_from():
    assert Preparation(downsample=2).sensor((4, 3)) == (8, 6)
    for half in (Preparation(field=(4, 4)), Preparation(polarities=2)):
        with pytest.raises(SettingError, match="size of the sensor"):
            half.stream()


@pytest.mark.parametrize(
    ("how", "field", "polarities"),
    [
        ({"field": (10, 8), "crop": (6, 4), "downsample": 2}, (3, 2), 2),
        ({"crop": (6, 4), "polarity": "merge"}, (6, 4), 1),
        ({"field": (10, 8), "polarities": 2, "polarity": "on", "denoise": "1 ms"}, (10, 8), 1),
        ({"downsample": 3}, (4, 4), 2),
    ],
)
def test_a_model_file_whose_preparation_leads_elsewhere_is_refused(how, field, polarities, tmp_path):
    def saved(field, polarities):
        network = Network([Full(tau=1000)], field, polarities, ["a"], preparation=Preparation(**how))
        network.parameters = Parameters.of([np.zeros((1, *field, polarities))], [np.full(1, np.inf)])
        network.save(tmp_path / "m.tsf")
        return Network.load(tmp_path / "m.tsf").preparation

    assert saved(field, polarities) == Preparation(**how)
    if "crop" in how or "field" in how:
        with pytest.raises(ModelFileError, match=rf"leads from .* to a field of {field[0]}x{field[1]} "):
            saved((field[0] + 1, field[1]), polarities)
    if "polarity" in how:
        with pytest.raises(ModelFileError, match=r"polarities: 1; the network takes .* with 2"):
            saved(field, 2)
