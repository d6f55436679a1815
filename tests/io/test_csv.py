"""CSV: columns by their names, times in any unit, polarities as programs write them; what holds no event is named."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from timesurf import EventError, Recordings
from timesurf.events.names import meaning
from timesurf.io import camera
from timesurf.io.columns import Columns


def read(path, text, **how):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    recording = camera.read(path, **how)
    return list(zip(*(v.tolist() for v in (*recording.coords, recording.t, recording.p)), strict=True)), recording


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("t,x,y,on\n10,1,2,1\n12,3,0,0\n", {}),
        ("10,1,2,1\n12,3,0,0\n", {}),
        ("10,1,2,1\n12,3,0,0", {}),
        ("0.00001 1 2 1\r\n0.000012 3 0 0\r\n", {}),  # the events.txt of common data sets
        ("# t_us x y p\n10 1 2 1\n12 3 0 0\n", {}),
        ("1 2 10 1\n3 0 12 0\n", {"columns": "x,y,t,p"}),
        ("x,y,t,p\r\n1,2,10,1\r\n\r\n3,0,12,0\r\n", {}),
        ("Timestamp, X, Y, Polarity\n10, 1, 2, 1\n12, 3, 0, -1\n", {}),
        ('"x";"y";"polarity";"timestamp"\n1;2;1;10\n3;0;-1;12\n', {}),
        ("\ufefft\tx\ty\tp\n10\t1\t2\t1\n12\t3\t0\t0\n", {}),
        (",x,y,t,p\n0,1,2,10,True\n1,3,0,12,False\n", {}),
        ("x,y,t_ns,pol\n1,2,10000,ON\n3,0,12000,OFF\n", {}),
        ("time [ms],x,y,p,camera\n0.010,1,2,1,left\n0.012,3,0,0,left\n", {}),
        ("ts,x,y,p\n0.000010,1,2,1\n0.000012,3,0,0\n", {}),
        ("t,x,y,p\n1.000000000000000000e+01,1.0,2.0e0,1e0\n1.2e+1,3,0,0\n", {}),
        ("t,x,y,p\n0.010,1,2,1\n0.012,3,0,0\n", {"unit": "ms"}),
        ("1,2,10,1\n3,0,12,0\n", {"columns": "x,y,t,p"}),
        ("# t,x,y,p\n10,1,2,1\n12,3,0,0\n", {}),
        ("% a camera\n% of today, cropped\nx,y,t,p\n1,2,10,1\n3,0,12,0\n", {}),
        ("# a camera\n# t_ms;x;y;p\n0.010;1;2;1\n0.012;3;0;0\n", {}),
        ("# recorded, today\n10,1,2,1\n12,3,0,0\n", {}),
    ],
)
def test_the_same_events_however_they_are_written(tmp_path, text, how):
    events, recording = read(tmp_path / "a.csv", text, **how)
    assert events == [(1, 2, 10, 1), (3, 0, 12, 0)]
    assert (recording.field, recording.polarities) == ((4, 3), 2)


def test_without_rows_or_polarities(tmp_path):
    _, spikes = read(tmp_path / "a.csv", "channel,time_us\n7,5\n3,6\n")
    assert (spikes.field, spikes.polarities, spikes.t.tolist()) == ((8,), 1, [5, 6])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("t,x,y,on\n10,1,2,1\n12,3,x,0\n", r"line 3 is '12,3,x,0': t,x,y,on are needed .*, and y is 'x'\.$"),
        ("t,x,y,on\n10,70000,2,1\n", r"line 2 is .*, and x is '70000'\.$"),
        ("t,x,y,on\n10,1,2,0.5\n", r"line 2 is .*, and on is '0\.5'\.$"),
        (
            "t\tx\ty\tmy\x1b[31m\n1\t2\t3\n",
            r"line 2 is '1\\t2\\t3': t,x,y,my\\x1b\[31m are needed .*, not 3 columns\.$",
        ),
        ("10,1,2,1\n12,3,0\n", r"line 2 is '12,3,0'"),
        ("% a camera\n% of today\n10,1,2,1\n12,3,0\n", r"line 4 is '12,3,0'"),
        ("% a camera\n", r"holds no events"),
        ("%\n" * 101 + "10,1,2,1\n", r"line 101 is '%'"),
        ("10,1,2,1\n12,3,0,0,9\n", r"line 2 is"),
        ("10,1,2,2\n", r"line 1 is"),
        ("10,1.5,2,1\n", r"line 1 is"),
        ("-10,1,2,1\n", r"line 1 is"),
        ("10,65536,2,1\n", r"line 1 is"),
        ("9e99,1,2,1\n", r"line 1 is"),
        ("99999999999999999999,1,2,1\n", r"line 1 is"),
        ("10,1,2,1\n8,1,2,1\n", r"event 1: time 8 us comes before 10 us"),
        ("a,b,c\n1,2,3\n", r"columns 'a,b,c': t,x,y,on are needed"),
        ("x,y,x,t\n1,2,3,4\n", r"columns 'x,y,x,t': two of them are x"),
        ("t,x,y,p\n", "holds no events"),
        ("1" * 700_000, "Is it CSV"),
    ],
)
def test_what_holds_no_event_is_an_error_that_names_the_line(tmp_path, text, why):
    with pytest.raises(EventError, match=rf"^[^\n]*a\.csv[^\n]*{why}"):
        read(tmp_path / "a.csv", text)


def test_a_unit_that_is_none_is_refused(tmp_path):
    with pytest.raises(EventError, match="unit = 'days' is not a unit of time"):
        read(tmp_path / "a.csv", "1,2,3,1\n", unit="days")


numbers = st.one_of(
    st.integers(0, 2**40).map(str),
    st.decimals(0, 10**6, places=7).map(lambda d: f"{d:f}"),
    st.floats(0, 1e9, allow_subnormal=False).map(lambda f: f"{f:.18e}"),
)


@examples(100)
@given(st.lists(numbers, min_size=1, max_size=5), st.sampled_from(["s", "ms", "us", "ns"]))
def test_times_are_exact_in_any_unit(texts, unit):
    from decimal import ROUND_HALF_UP, Decimal

    power = {"s": 6, "ms": 3, "us": 0, "ns": -3}[unit]
    columns = Columns.of(b"t,x\n", "here", unit=unit)
    packet, lines, (refused, _, _) = columns.events("".join(f"{text},1\n" for text in texts).encode())
    exact = [(Decimal(text) * Decimal(10) ** power).quantize(Decimal(1), ROUND_HALF_UP) for text in texts]
    assert (lines, refused) == (len(texts), 0)
    for found, should in zip(packet["t"].tolist(), exact, strict=True):
        assert abs(found - should) <= max(1, should // 10**17)  # digits beyond 18 are not read


def test_long_files_come_in_packets_and_are_written_and_read(tmp_path):
    n = 100_000
    rng = np.random.default_rng(0)
    one = Recordings(
        [rng.integers(0, 64, n), rng.integers(0, 48, n)], np.arange(n) * 3, rng.integers(0, 2, n),
        field=(64, 48), polarities=2,
    )  # fmt: skip
    camera.write(tmp_path / "a.csv", one)
    packets = list(camera.packets(tmp_path / "a.csv"))
    assert len(packets) > 2
    np.testing.assert_array_equal(np.concatenate(packets)["t"], one.t)
    np.testing.assert_array_equal(np.concatenate(packets)["p"], one.p)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("timestamp", ("t", None)), ("Time (s)", ("t", "s")), ("t[us]", ("t", "us")), ("ts_nanoseconds", ("t", "ns")),
        ("polarity", ("p", None)), ("x_us", (None, None)), ("on", ("p", None)), ("", (None, None)),
    ],
)  # fmt: skip
def test_names(name, expected):
    assert meaning(name) == expected


def test_arrays_by_columns_and_names():
    plain = np.array([[3, 1, 0, 1], [2, 0, 7, -1]])
    for one in (plain, [plain], plain.astype(float)):
        found = Recordings.from_structured(one)
        assert (found.t.tolist(), found.p.tolist(), found.field) == ([0, 7], [1, 0], (4, 2))
    named = np.array([(3, 1, 5, True)], [("x", "u2"), ("y", "u2"), ("timestamp", "u8"), ("polarity", "?")])
    found = Recordings.from_structured([named, named], unit="ms")
    assert (found.t.tolist(), found.p.tolist(), len(found)) == ([5000, 5000], [1, 1], 2)
    for wrong, why in (
        (plain[:, :3], "shape"),
        (plain + 0.5, "x holds numbers that are not whole"),
        (np.array([[1, 1, np.nan, 1]]), "times in"),
        (-plain, "times in us must be numbers from 0"),
    ):
        with pytest.raises(EventError, match=why):
            Recordings.from_structured(wrong)


def test_a_time_that_is_no_number_does_not_make_seconds_of_the_others(tmp_path):
    (tmp_path / "a.csv").write_text("t,x,y\nnan,2,3\n7,2,3\n", "utf-8")
    with pytest.raises(EventError, match=r"line 2 is 'nan,2,3': t,x,y are needed \(us, .*t is 'nan'"):
        camera.read(tmp_path / "a.csv")
