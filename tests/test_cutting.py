"""Long recordings in pieces: where they are cut, whose they are, and that a split keeps them together."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from timesurf import EventError, Recordings, SettingError
from timesurf.cli.cutting import cut
from timesurf.io.columns import DTYPE
from timesurf.learning import ridge
from timesurf.learning.split import split
from timesurf.transforms import cutting


def some(seed=0, recordings=3, polarities=1):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 40, recordings)
    t = [np.sort(rng.integers(0, 300, n)) for n in counts]
    p = rng.integers(0, polarities, counts.sum())
    return Recordings(
        [rng.integers(0, 5, counts.sum())], np.concatenate(t), p, np.concatenate([[0], np.cumsum(counts)]),
        field=(5,), polarities=polarities, labels=np.arange(recordings),
    )  # fmt: skip


def starts(begin, end, length, hop, rest):
    """Where pieces begin, by a plain loop."""
    found, at = [], begin
    while at + length <= end:
        found.append(at)
        at += hop
    if not found or (rest and (found[-1] + length < end)):
        found.append(at)
    return found


@given(st.integers(0, 2**32 - 1), st.integers(1, 120), st.sampled_from([0.0, 0.25, 0.5, 0.9]), st.booleans())
@examples(40)
def test_pieces_of_time_against_a_plain_loop(seed, length, overlap, rest):
    whole = some(seed)
    found = cutting.cut(whole, length, overlap=overlap, rest=rest)
    hop, expected = max(round(length * (1 - overlap)), 1), []
    for r, recording in enumerate(whole):
        t = recording.t.tolist()
        begin = t[0] - t[0] % length if t else 0
        for at in starts(begin, t[-1] + 1 if t else 1, length, hop, rest):
            expected.append((r, at, [time for time in t if at <= time < at + length]))
    pieces = zip(found.origin.tolist(), found.begin.tolist(), found.recordings, strict=True)
    assert [(r, at, piece.t.tolist()) for r, at, piece in pieces] == expected
    assert found.recordings.labels.tolist() == found.origin.tolist()


def test_a_last_piece_that_is_nearly_whole_remains_where_that_is_asked_for():
    t = [0, 99, 100, 195]
    almost = Recordings([[0] * 4], t=t, field=(1,))
    assert cutting.cut(almost, 100).recordings.counts.tolist() == [2]
    found = cutting.cut(almost, 100, least=0.9)
    assert (found.recordings.counts.tolist(), found.left.tolist()) == ([2, 2], [0])
    assert cutting.cut(almost, 100, least=0.97).left.tolist() == [96]
    assert cutting.cut(almost, 100, overlap=0.5, least=0.9).begin.tolist() == [0, 50, 100]
    assert cutting.cut(almost, events=3, least=0.3).recordings.counts.tolist() == [3, 1]
    with pytest.raises(SettingError, match="least"):
        cutting.cut(almost, 100, least=0)


def test_the_command_keeps_a_last_piece_that_is_nearly_whole(capsys):
    almost = Recordings([[0] * 3], t=[0, 1_000_000, 1_999_000], field=(1,))
    assert len(cut(almost, "1 s").recordings) == 2
    assert "2 pieces of 1 s of 1 recording." in capsys.readouterr().out


@given(st.integers(0, 2**32 - 1), st.integers(1, 25), st.sampled_from([0.0, 0.5]), st.booleans())
@examples(30)
def test_pieces_of_events_against_a_plain_loop(seed, events, overlap, rest):
    whole = some(seed)
    found = cutting.cut(whole, events=events, overlap=overlap, rest=rest)
    hop, expected = max(round(events * (1 - overlap)), 1), []
    for r, recording in enumerate(whole):
        t = recording.t.tolist()
        expected += [(r, t[at : at + events]) for at in starts(0, len(t), events, hop, rest)]
    pieces = zip(found.origin.tolist(), found.recordings, strict=True)
    assert [(r, piece.t.tolist()) for r, piece in pieces] == expected


def test_frames_count_every_event_of_a_piece_once():
    whole = some(1, polarities=2)
    frames, pieces = cutting.frames(whole, 50), cutting.pieces(whole, 50)
    assert frames.shape == (len(pieces), 2, 5)
    assert frames.sum(axis=(1, 2)).tolist() == pieces.counts.tolist()
    for frame, piece in zip(frames, pieces, strict=True):
        for x, p in zip(piece.coords[0], piece.p, strict=True):
            frame[p, x] -= 1
    assert not frames.any()


@pytest.mark.parametrize(
    "how",
    [{}, {"every": 5, "events": 5}, {"events": 0}, {"events": 1.5}, {"every": "1 cm"}, {"every": 5, "overlap": 1}],
)
def test_lengths_that_are_not_valid_are_refused(how):
    with pytest.raises(SettingError):
        cutting.cut(some(), **how)


def test_millions_of_pieces_are_refused():
    with pytest.raises(SettingError, match="more than"):
        cutting.cut(Recordings([[0, 0]], t=[0, 10**12], field=(1,)), 1)
    with pytest.raises(SettingError, match="downsample"):
        cutting.frames(Recordings([[0] * 9] * 2, t=range(9), field=(10_000, 10_000)), events=1)


def test_a_split_keeps_the_pieces_of_a_recording_together():
    long = Recordings([[0] * 120], t=list(range(20)) * 6, offsets=range(0, 121, 20), field=(1,), labels=list("aaabbb"))
    pieces = cutting.cut(long, events=5)
    parts = split(pieces.recordings, 0.3, 0.3, origin=pieces.origin)
    whose = [set(pieces.origin[numbers].tolist()) for numbers in parts.numbers.values()]
    assert [len(of) for of in whose] == [2, 2, 2]
    assert len(set.union(*whose)) == 6
    assert [len(part) for part in (parts.learn, parts.validation, parts.held_out)] == [8, 8, 8]


def test_without_an_origin_a_split_is_as_before():
    data = some(2, recordings=30).with_labels([0, 1, 2] * 10)
    numbers = np.arange(30)
    assert split(data).numbers == split(data, origin=numbers).numbers


def test_recordings_add_up():
    a, b = some(3), some(4, polarities=2)
    both = a + b
    assert (len(both), both.polarities) == (6, 2)
    assert both.t.tolist() == [*a.t.tolist(), *b.t.tolist()]
    assert both.labels.tolist() == [0, 1, 2, 0, 1, 2]
    wide = Recordings([[8]], t=[1], field=(9,))
    assert (a + wide).field == (9,)
    assert (a + wide).labels.tolist() == [0, 1, 2, -1]
    assert (wide + wide).labels is None
    with pytest.raises(EventError, match="dimensions"):
        a + Recordings([[8], [8]], t=[1], field=(9, 9))
    with pytest.raises(TypeError):
        a + 1


def test_pieces_longer_than_any_clock_are_whole_recordings():
    recordings = Recordings([[0, 0]], t=[5, 2**60], offsets=[0, 2], field=(1,))
    assert cutting.cut(recordings, "1e30 s").recordings.counts.tolist() == [2]
    for events in (2**62, 2**63, 2**70):
        assert cutting.cut(recordings, events=events, overlap=0.5, rest=True).recordings.counts.tolist() == [2]


def test_an_overlap_is_a_share_of_a_piece():
    one = Recordings([[0] * 300], t=np.arange(300), field=(1,))
    assert len(cutting.pieces(one, events=100, overlap=0.99)) == 201
    for wrong in (-0.01, 0.991):
        with pytest.raises(SettingError, match="overlap"):
            cutting.cut(one, events=100, overlap=wrong)


def test_as_many_pieces_as_there_may_be_and_no_more(monkeypatch):
    monkeypatch.setattr(cutting, "MOST_PIECES", 5)
    long = Recordings([[0] * 6], t=range(6), offsets=[0, 3, 6], field=(1,))
    assert len(cutting.pieces(long[[0, 0]], events=2)) == 2
    assert len(cutting.pieces(long[0] + Recordings([[0] * 2], t=range(2), field=(1,)), events=1)) == 5
    with pytest.raises(SettingError, match="more than 5 pieces"):
        cutting.pieces(long, events=1)


def test_as_large_frames_as_there_may_be_and_no_larger(monkeypatch):
    monkeypatch.setattr(cutting, "_MOST_COUNTS", 24)
    long = Recordings([[0] * 3, [1] * 3], t=range(3), field=(2, 2), polarities=2)
    assert cutting.frames(long, events=1).shape == (3, 2, 2, 2)
    with pytest.raises(SettingError, match="3 frames of 9 counts"):
        cutting.frames(long.with_one_polarity().on_field((3, 3), 1), events=1)


def test_where_pieces_of_events_begin_and_what_a_recording_without_events_gives():
    whole = Recordings([[0] * 5], t=[3, 4, 9, 9, 20], offsets=[0, 5, 5], field=(1,))
    found = cutting.cut(whole, events=2, rest=True)
    assert (found.begin.tolist(), found.origin.tolist()) == ([3, 9, 20, 0], [0, 0, 0, 1])
    assert found.recordings.counts.tolist() == [2, 2, 1, 0]
    assert cutting.cut(whole, events=9).begin.tolist() == [3, 0]
    assert cutting.cut(whole, events=2, rest=False).recordings.counts.tolist() == [2, 2, 0]
    assert cutting.cut(whole[0], events=5, rest=True).recordings.counts.tolist() == [5]
    none = cutting.cut(whole[[]], events=2)
    assert (len(none.recordings), none.origin.tolist(), none.begin.tolist()) == (0, [], [])


def test_what_is_left_of_each_recording_is_counted():
    whole = Recordings([[0] * 6], t=[3, 4, 9, 19, 20, 27], offsets=[0, 5, 5, 6], field=(1,))
    assert cutting.cut(whole, 10).left.tolist() == [1, 0, 0]
    assert cutting.cut(whole, 8).left.tolist() == [5, 0, 0]
    assert cutting.cut(whole, 8, overlap=0.5).left.tolist() == [1, 0, 0]
    assert cutting.cut(whole, events=2).left.tolist() == [1, 0, 0]
    assert cutting.cut(whole, events=3, overlap=0.5).left.tolist() == [0, 0, 0]
    assert cutting.cut(whole, events=2, rest=True).left.tolist() == [0, 0, 0]
    assert cutting.cut(whole[[]], 10).left.tolist() == []


def test_lengths_have_a_smallest():
    one = Recordings([[0, 0]], t=[0, 2], field=(1,))
    assert cutting.pieces(one, 0.25).counts.tolist() == [1, 0, 1]  # a microsecond
    assert cutting.pieces(one, events=np.int64(1)).counts.tolist() == [1, 1]
    with pytest.raises(SettingError, match="events = -1"):
        cutting.pieces(one, events=-1)


def test_frames_of_over_512_mib_are_refused():
    assert 4 * cutting._MOST_COUNTS == 512 << 20  # of uint32
    with pytest.raises(SettingError, match="1 frames of 134,217,729 counts"):
        cutting.frames(Recordings([[0]], t=[0], field=((1 << 27) + 1,)), events=1)


def test_there_may_be_four_million_pieces():
    assert cutting.MOST_PIECES == 4_194_304
    with pytest.raises(SettingError, match="more than 4,194,304"):
        cutting.cut(Recordings([[0, 0]], t=[0, 4_194_305], field=(1,)), 1)


def test_a_piece_is_at_most_half_as_long_as_times_may_be():
    ages = Recordings([[0, 0, 0]], t=[0, 2**61 - 1, 2**61 + 1], field=(1,))
    assert cutting.cut(ages, every=2**62, rest=True).recordings.counts.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("last", "counts", "with_rest"), [(18, [2], [2, 1]), (19, [2, 1], [2, 1]), (20, [2, 1], [2, 1, 1])]
)
def test_a_piece_is_whole_with_its_last_microsecond_and_an_event_at_its_end_is_left_over(last, counts, with_rest):
    whole = Recordings([[0, 0, *[0] * (last > 19), 0]], t=[0, 9, *[12] * (last > 19), last], field=(1,))
    assert cutting.cut(whole, 10).recordings.counts.tolist() == counts
    assert cutting.cut(whole, 10, rest=True).recordings.counts.tolist() == with_rest


@given(st.lists(st.integers(0, 50), max_size=30), st.lists(st.integers(-5, 60), max_size=10), st.integers(1, 7))
@examples(40)
def test_events_before_as_numpy_counts_them(t, at, stretch):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutting, "AT_ONCE", stretch)
        found = cutting.events_before(np.sort(t).astype(np.int64), np.sort(at))
    np.testing.assert_array_equal(found, np.searchsorted(np.sort(t), np.sort(at)))


@pytest.mark.parametrize("cut", [lambda long: cutting.cut(long, 1_000), lambda long: ridge.in_parts(long, 4)])
def test_a_long_recording_in_a_mapped_file_is_cut_without_a_copy_of_its_times(tmp_path, cut):
    n = 4_000_000
    events = np.memmap(tmp_path / "events", DTYPE, "w+", shape=n)
    events["t"] = np.arange(n)
    long = Recordings([events["x"], events["y"]], events["t"], field=(1, 1))
    tracemalloc.start()
    try:
        cut(long)
        assert tracemalloc.get_traced_memory()[1] < 3 * n  # bytes; the times have 8 each
    finally:
        tracemalloc.stop()
