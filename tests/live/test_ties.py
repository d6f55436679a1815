"""Decisions of a session where votes are equal, and before there are any."""

import numpy as np
import pytest

from timesurf import Full, Network
from timesurf.engines import Parameters
from timesurf.live.session import Session


def pixels(*, vote_tau=None):
    """A session of a network whose class n is pixel n."""
    network = Network([Full(tau=0.01)], (3,), 1, ["a", "b", "c"])
    network.parameters = Parameters.of([np.eye(3)[:, :, None]], [np.full(3, np.inf)])
    return Session(network, vote_tau=vote_tau)


def push(session, x, t):
    events = np.zeros(len(x), [("x", int), ("t", int)])
    events["x"], events["t"] = x, t
    return session.push(events)


@pytest.mark.parametrize(
    ("order", "ahead", "share"),
    [([2], "c", 1.0), ([2, 1], "b", 0.5), ([2, 1, 0], "a", 1 / 3), ([2, 2, 1], "c", 2 / 3), ([0, 1, 1], "b", 2 / 3)],
)
def test_equal_votes_go_to_the_lowest_class_whatever_came_first(order, ahead, share):
    found = push(pixels(), order, np.arange(len(order)) * 100)
    assert (found.decision, found.confidence) == (ahead, pytest.approx(share))


def test_equal_votes_over_several_packets_go_to_the_lowest_class():
    session = pixels()
    assert [push(session, [x], [t]).decision for t, x in enumerate([2, 1, 1, 2, 0, 0])] == [
        "c",
        "b",
        "b",
        "b",
        "b",
        "a",
    ]


def test_fading_votes_prefer_what_came_last():
    assert push(pixels(vote_tau=100), [0, 2], [0, 50]).decision == "c"


def test_without_a_vote_there_is_no_decision():
    found = push(pixels(), [], [])
    assert (found.decision, found.confidence, len(found.events)) == (None, 0.0, 0)
