"""Events as other programs hold them: names, units, plain arrays; and recordings that are joined."""

import numpy as np
import pytest

from timesurf.errors import EventError
from timesurf.events import LATEST, Recordings, checks, structured
from timesurf.events.joining import joined
from timesurf.events.names import meaning, unit_of


@pytest.mark.parametrize(
    ("name", "means"),
    [
        (" 'T (us)' ", ("t", "us")),
        ("timestamp_milliseconds", ("t", "ms")),
        ("time:s", ("t", "s")),
        ("COL", ("x", None)),
        ("x_ms", (None, None)),  # only times have a unit
        ("t_pixels", (None, None)),
        ("camera_ms", (None, None)),
        ("tms", (None, None)),
    ],
)
def test_a_name_says_what_a_column_holds_and_in_which_unit(name, means):
    assert meaning(name) == means


def test_units_that_callers_give():
    assert (unit_of(None), unit_of(" MS "), unit_of("nanoseconds"), unit_of("us")) == (None, "ms", "ns", "us")
    with pytest.raises(EventError, match="'years' is not a unit of time"):
        unit_of("years")


def named(**columns):
    """A structured array with these fields."""
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    events = np.zeros(len(next(iter(arrays.values()))), [(name, a.dtype) for name, a in arrays.items()])
    for name, values in arrays.items():
        events[name] = values
    return events


@pytest.mark.parametrize(
    ("t", "unit", "us"),
    [
        ([0, 2], "s", [0, 2_000_000]),
        ([0, 2], "ms", [0, 2_000]),
        ([0, 2], "us", [0, 2]),
        ([999, 1_999_999], "ns", [0, 1999]),  # the microsecond that has begun
        ([0.0, 1.6e-6], "s", [0, 2]),  # the nearest one
        ([1.5, 2.0], "ms", [1500, 2000]),
        ([1600.0, 2400.0], "ns", [2, 2]),
    ],
)
def test_times_become_microseconds(t, unit, us):
    found = structured.flat([named(x=[0, 0], t=t)], unit=unit)["t"]
    assert found.tolist() == us
    assert found.dtype == np.int64
    assert structured.flat([named(**{"x": [0, 0], f"time_{unit}": t})])["t"].tolist() == us


def test_a_unit_that_is_given_goes_before_the_one_that_a_name_states():
    assert structured.flat([named(x=[0], t_ms=[7])], unit="s")["t"].tolist() == [7_000_000]
    assert structured.flat([np.array([[0, 7]])], "x,t_ms", "s")["t"].tolist() == [7_000_000]
    assert structured.flat([np.array([[0, 7]])], "x,t_ms")["t"].tolist() == [7_000]


def test_whole_microseconds_are_not_copied():
    events = named(x=[0, 1], t=[3, 4])
    for unit in (None, "us"):
        assert np.shares_memory(structured.flat([events], unit=unit)["t"], events)


@pytest.mark.parametrize(("unit", "largest"), [("us", LATEST - 1), ("ms", LATEST // 10**3 - 1), ("ns", LATEST - 1)])
def test_times_as_far_as_times_go_and_no_further(unit, largest):
    assert structured.flat([named(x=[0], t=[largest])], unit=unit)["t"][0] <= LATEST
    for beyond in (largest + 1, -1):
        with pytest.raises(EventError, match=f"recording 0: times in {unit} must be numbers from 0 to 2"):
            structured.flat([named(x=[0, 0], t=[0, beyond])], unit=unit)


@pytest.mark.parametrize("wrong", [float(LATEST), -1.0, float("nan")])
def test_real_times_as_far_as_times_go_and_no_further(wrong):
    assert structured.flat([named(x=[0], t=[float(LATEST) - 512])], unit="us")["t"].tolist() == [LATEST - 512]
    with pytest.raises(EventError, match="recording 1: times in us"):
        structured.flat([named(x=[0], t=[0.0]), named(x=[0], t=[wrong])], unit="us")


@pytest.mark.parametrize(
    "t", [np.array([True]), np.array(["1"]), np.zeros(1, np.dtype((np.int64, (2,))))], ids=["bool", "text", "pairs"]
)
def test_times_that_are_no_numbers_are_refused(t):
    events = np.zeros(1, [("x", int), ("t", t.dtype, t.shape[1:])])
    with pytest.raises(EventError, match="numbers are needed"):
        structured.flat([events], unit="s")


def test_no_events_are_events_too():
    assert structured.flat([named(x=np.zeros(0, int), t=np.zeros(0), p=np.zeros(0, int))], unit="s")["t"].tolist() == []
    assert structured.flat([np.zeros((0, 4))])["t"].tolist() == []


@pytest.mark.parametrize(
    ("p", "ours"),
    [
        ([-1, 1], [0, 1]),
        ([-1, 0, 1], [0, 0, 1]),
        ([-1, -1], [0, 0]),
        ([0, 1], [0, 1]),
        ([-1, 2], [-1, 2]),  # refused later, by its own name
        ([-2, 1], [-2, 1]),
    ],
)
def test_off_and_on_as_minus_one_and_one(p, ours):
    events = named(x=[0] * len(p), t=[0] * len(p), p=p)
    assert structured.flat([events])["p"].tolist() == ours


def test_plain_arrays_by_their_columns():
    whole = np.array([[3, 1, 5, 1], [4, 2, 6, 0]])
    for array in (whole, whole.astype(float)):
        found = structured.flat([array])
        assert {name: values.tolist() for name, values in found.items()} == {
            "x": [3, 4], "y": [1, 2], "t": [5, 6], "p": [1, 0],
        }  # fmt: skip
        assert all(values.dtype == np.int64 for values in found.values())
    assert list(structured.flat([whole], "x,y,t,camera")) == ["x", "y", "t"]
    fractions = structured.flat([np.array([[0, 0.5], [1, 2.0]])], "x,t")
    assert fractions["t"].tolist() == [500_000, 2_000_000]  # fractions are seconds, as tonic and dv write them


@pytest.mark.parametrize("columns", ["x,y,t", "x,y,z,p", "x,x,t,p", "x,y,t,p,p", "a,b,t,p"])
def test_columns_that_do_not_fit_are_refused(columns):
    with pytest.raises(EventError, match=r"recording 1: an array of shape \(1, 4\) with the columns"):
        structured.flat([named(x=[1], t=[1]), np.zeros((1, 4))], columns)


@pytest.mark.parametrize("wrong", [0.5, float("nan"), 2.0**62, -(2.0**62)])
def test_columns_of_numbers_that_are_not_whole_are_refused(wrong):
    assert structured.flat([np.array([[2.0**61, 1.0]])], "x,t")["x"].tolist() == [2**61]
    with pytest.raises(EventError, match="recording 0: x holds numbers that are not whole"):
        structured.flat([np.array([[1.0, 1.0], [wrong, 1.0]])], "x,t")


def test_recordings_with_other_fields_or_one_twice_are_refused():
    with pytest.raises(EventError, match=r"recording 1 has fields .*'y'.*recording 0 has"):
        structured.flat([named(x=[0], t=[0]), named(x=[0], y=[0], t=[0])])
    with pytest.raises(EventError, match="recording 0: events need named fields"):
        structured.flat([named(x=[0], col=[0], t=[0])])
    with pytest.raises(EventError, match="recording 0: events need named fields"):
        structured.flat([named(x=[0], y=[0])])
    with pytest.raises(EventError, match="recording 1: y has dtype float64"):
        structured.flat([named(y=[0], t=[0]), named(y=[0.5], t=[0])])
    other = named(camera=[9], x=[1], t=[0])
    assert list(structured.flat([other, named(t=[0], x=[2])])) == ["x", "t"]


# ------------------------------------------------------------------ checks


def test_names_of_axes_and_the_smallest_field():
    assert [checks.axis_name(d) for d in range(5)] == ["x", "y", "z", "x3", "x4"]
    assert checks.sizes([[0, 4], [], np.array([-5])]) == (5, 1, 1)
    with pytest.raises(EventError, match="y has dtype"):
        checks.sizes([[0], [0.5]])
    with pytest.raises(EventError, match="row has dtype"):
        checks.sizes([[0], [0.5]], ["col", "row"])


def test_what_counts_as_integers():
    assert checks.integers([], "x").dtype == np.int64
    assert checks.integers(np.array([True, False]), "x").tolist() == [1, 0]
    for wrong, why in ((np.zeros(0), "dtype"), ([[1], [2, 3]], "mixed lengths"), ([[1, 2]], "shape"), (3, "shape")):
        with pytest.raises(EventError, match=f"x .*{why}"):
            checks.integers(wrong, "x")
    with pytest.raises(EventError) as error:
        checks.integers(np.array([0.5]), "x")
    assert "NaN" not in str(error.value)


def test_offsets_begin_at_0_and_never_go_back():
    about = {"coords": [[0, 0, 0]], "t": [0, 0, 0], "field": (1,)}
    with pytest.raises(EventError, match="offsets run from 1 to 3"):
        Recordings(**about, offsets=[1, 3])
    with pytest.raises(EventError, match=r"recording 1 ends \(offset 1\) before it begins \(2\)"):
        Recordings(**about, offsets=[0, 2, 1, 3])
    assert Recordings(**about, offsets=[0, 0, 3]).counts.tolist() == [0, 3]


def test_every_part_that_was_checked_is_released(monkeypatch):
    released = []
    monkeypatch.setattr(checks, "release", lambda *arrays: released.append([array.tolist() for array in arrays]))
    monkeypatch.setattr(checks, "_CHECKED_AT_ONCE", 2)
    arrays = {"x": np.zeros(3, int), "t": np.arange(3)}
    checks.check_events(arrays, {"x": 1, "t": LATEST}, np.array([0]))
    assert released == [[[0, 0, 0], [0, 1, 2]]] * 2


# ------------------------------------------------------------------ joining


def test_joined_recordings_follow_one_another_on_the_largest_field():
    a = Recordings([[0, 1], [1, 0]], [5, 6], [0, 0], [0, 1, 2], field=(2, 7), labels=["a", "b"])
    b = Recordings([[3], [2]], [1], [1], field=(4, 3), polarities=2)
    both = joined([a, b])
    assert (both.field, both.polarities) == ((4, 7), 2)
    assert [axis.tolist() for axis in both.coords] == [[0, 1, 3], [1, 0, 2]]
    assert (both.t.tolist(), both.p.tolist(), both.offsets.tolist()) == ([5, 6, 1], [0, 0, 1], [0, 1, 2, 3])
    assert both.known_labels == ["a", "b", None]
    assert joined([a]) is a
    assert sum([a, b]).t.tolist() == both.t.tolist()
    with pytest.raises(TypeError):
        1 + a
    for wrong, why in (([], "no recordings"), ([a, Recordings([[0]], [0], field=(9,))], "fields of 2 x 7 and 9")):
        with pytest.raises(EventError, match=why):
            joined(wrong)


def test_events_out_of_order_are_sorted_where_that_is_asked_for():
    events = np.array([(3, 1, 7, 1), (2, 0, 0, 0), (1, 1, 0, 1)], [("x", "i2"), ("y", "i2"), ("t", "i8"), ("p", "i1")])
    with pytest.raises(EventError, match="sort=True"):
        Recordings.from_structured([events[:1], events])
    found = Recordings.from_structured([events[:1], events], sort=True)
    assert (found.t.tolist(), found.p.tolist(), found.coords[0].tolist()) == ([7, 0, 0, 7], [1, 0, 1, 1], [3, 2, 1, 3])
