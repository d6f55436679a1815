"""Evidence of one event."""

from timesurf.rule import DOUBT


def test_one_event_counts_against_a_class_at_most_as_one_in_ten_thousand():
    assert DOUBT == 1e-4
