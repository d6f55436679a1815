"""Decisions as columns of a table."""

import io

import numpy as np
import pytest

from timesurf import Full, Network, Recordings, SettingError
from timesurf.engines import Outcome
from timesurf.results.decisions import as_csv, as_lines, as_parquet, columns, encoder


def test_ties_go_to_the_first_class_and_silent_recordings_have_no_decision():
    network = Network([Full(tau=1)], (2,), 1, ["a", "b"])
    recordings = Recordings([[0] * 6], t=range(6), offsets=[0, 3, 5, 6], field=(2,))
    outcome = Outcome(np.array([3, 2, 1]), np.array([[3], [2], [0]]), np.array([[1, 2], [1, 1], [0, 0]]))
    table = columns(network, recordings, outcome)
    assert table["decision"] == ["b", "a", None]
    assert table["confidence"] == [0.6667, 0.5, None]
    assert table["output_events"] == [3, 2, 0]
    assert table["votes b"] == [2, 1, 0]
    assert table["label"] == [None, None, None]


def test_unlabelled_recordings_among_labelled_ones_are_decided_on_too():
    network = Network([Full(tau=1)], (2,), 1, ["a", "b"])
    recordings = Recordings([[0, 1]], t=[0, 1], offsets=[0, 1, 2], field=(2,), labels=["a", ""])
    outcome = Outcome(np.array([1, 1]), np.array([[1], [1]]), np.array([[1, 0], [0, 1]]))
    table = columns(network, recordings, outcome)
    assert table["decision"] == ["a", "b"]
    assert table["label"] == ["a", None]


def test_a_table_with_columns_of_different_lengths_is_refused_and_formulas_are_not_run():
    with pytest.raises(ValueError, match="shorter"):
        as_csv({"a": [1, 2], "b": [1]})
    text = as_csv({"=a": ["+1", "b", "@x", -1, None], "b": [1.5, "-", "\tx", "x=", ""]})
    assert text.splitlines() == ["'=a,b", "'+1,1.5", "b,'-", "'@x,'\tx", "-1,x=", ","]


def test_rows_are_numbered_and_confidence_has_four_digits():
    network = Network([Full(tau=1)], (2,), 1, [7, 5])
    recordings = Recordings([[0, 0]], t=[0, 1], offsets=[0, 1, 2], field=(2,), labels=[5, 7])
    outcome = Outcome(np.array([9, 8]), np.array([[7], [1]]), np.array([[2, 5], [1, 0]]))
    assert columns(network, recordings, outcome) == {
        "recording": [0, 1], "label": [5, 7], "decision": [5, 7], "confidence": [0.7143, 1.0], "events": [9, 8],
        "output_events": [7, 1], "votes 7": [2, 1], "votes 5": [5, 0],
        "probability 7": [0.2857, 1.0], "probability 5": [0.7143, 0.0],
    }  # fmt: skip


def test_the_suffix_says_what_is_written():
    table = {"label": ["é", None], "votes": [1, 2]}
    for out in ("-", "a.csv", "a.CSV"):
        assert encoder(out)(table).decode() == as_csv(table)
    for out in ("a.jsonl", "b.ndjson"):
        assert encoder(out)(table).decode() == as_lines(table)
    assert encoder("a.parquet") is as_parquet
    with pytest.raises(SettingError, match=r"a\.txt: decisions are written as"):
        encoder("a.txt")


def test_parquet_has_text_floats_and_whole_numbers():
    pq = pytest.importorskip("pyarrow.parquet")
    table = {
        "label": [5, None],
        "confidence": [1, None],
        "begin_s": [0, 1],
        "votes a": [1, 2],
        "probability a": [1, 0.5],
    }
    found = pq.read_table(io.BytesIO(as_parquet(table)))
    assert [str(kind) for kind in found.schema.types] == ["string", "double", "double", "int64", "double"]
    assert found["label"].to_pylist() == ["5", None]
