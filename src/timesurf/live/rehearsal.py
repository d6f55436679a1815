"""What keeps a network that is taught from forgetting: old recordings between lessons, and a rate that suits them."""

from __future__ import annotations

from math import inf

import numpy as np

from timesurf.errors import SettingError
from timesurf.events import Recordings
from timesurf.live.session import Session
from timesurf.network import Network
from timesurf.rule import Rule

_PACE = 10.0  # of the delta rule: people show a thing a few times, not for hours (benchmarks/teaching.py)


def rule_to_teach(network: Network, *, rehearsed: bool, pace: float | None = None) -> Rule:
    """The rule that people teach by.

    Parameters
    ----------
    network : Network
        What is taught.
    rehearsed : bool
        Whether old recordings are shown between lessons.
    pace : float, optional
        Factor of the rates of the network's rule. None: 10 for the delta rule if old recordings are rehearsed, else 1:
        without them, a higher rate forgets more.

    Returns
    -------
    Rule
        For `Session(teach=...)`.

    """
    if pace is None:
        pace = _PACE if rehearsed and network.rule.last == "delta" else 1.0
    if not 0 < pace < inf:
        raise SettingError(
            f"{pace:g} times the rate of the network's rule cannot be learned by: give a number above 0."
        )
    return network.rule.scaled(pace)


class Rehearsal:
    """Old recordings that are shown to a session after each lesson, so that it does not forget what they show.

    Parameters
    ----------
    recordings : Recordings
        Labelled, of the classes that the network knows.

    Attributes
    ----------
    turn : int
        How many lessons there were: each shows the next recording of every class.

    """

    def __init__(self, recordings: Recordings) -> None:
        self.recordings, self.turn = recordings, 0
        self._of = {str(name): np.flatnonzero(recordings.labels == name).tolist() for name in recordings.classes}

    def after(self, session: Session, taught: object, changes: int) -> None:
        """After a lesson, show one recording of each class but the one that was taught.

        Parameters
        ----------
        session : Session
            What was taught.
        taught : label
            Which class the lesson was about.
        changes : int
            Changes of the session before the lesson: where there are no more now, nothing was learned, and nothing is
            shown.

        """
        network = session.network
        if session.changes <= changes or self.recordings.field != network.field:
            return
        for name in network.classes.tolist():
            mine = self._of.get(str(name))
            if mine is not None and str(name) != str(taught):
                session.rehearse(self.recordings[mine[self.turn % len(mine)]], name)
        self.turn += 1
