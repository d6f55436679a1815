"""What a page may ask of a show: one act per message, its name under "do"."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from timesurf.errors import SettingError, TimesurfError
from timesurf.events import Recordings
from timesurf.io import npz
from timesurf.live.show import Show
from timesurf.network import Network

_MOST_POINTS = 2000  # per message
_REST = 10.0  # s from one score of a network that adapts to the next: it takes the engine's cores
_HELD_OUT = "The held-out data"
Fit = Callable[[Recordings, Network, str], Recordings]


def _as_they_are(recordings: Recordings, network: Network, name: str) -> Recordings:
    """Recordings that are on a network's field already."""
    if (recordings.field, recordings.polarities) != (network.field, network.polarities):
        raise SettingError(f"This network does not fit {name}, which is {recordings!r}.")
    return recordings


class Acts:
    """A show, and what people may do to it.

    Parameters
    ----------
    show : Show
        At work.
    files : dict of str to Recordings
        What can be played back, by name.
    out : Path, optional
        Where "save" writes the model.
    held_out : Recordings, optional
        What the network is scored on, before and after it was taught.
    fit : callable, optional
        Makes of recordings, a network and a name what the network takes, or raises SettingError; None: recordings are
        on the network's field.

    """

    def __init__(
        self,
        show: Show,
        files: dict[str, Recordings] | None = None,
        out: Path | None = None,
        held_out: Recordings | None = None,
        fit: Fit = _as_they_are,
    ) -> None:
        self.show, self.out, self._fit = show, out, fit
        self._given, self._given_held_out = files or {}, held_out
        network = show.session.network
        self.files = {name: fit(recordings, network, name) for name, recordings in self._given.items()}
        self.held_out = None if held_out is None else fit(held_out, network, _HELD_OUT)
        self.score: dict[str, Any] | None = None
        self._scorer = ThreadPoolExecutor(1, "timesurf score")
        self._scored: tuple[Any, int] = None, 0  # the view, which is new with each model, and its version
        self._scoring: Future[None] | None = None
        self._rest = 0.0  # when a network that adapts is scored again
        self.playing: str | None = None
        if self.files and show.camera is None:
            self.playing = next(iter(self.files))
            show.play(self.files[self.playing])

    def state(self) -> dict[str, Any]:
        """What goes with every frame."""
        show, played = self.show, self.show.playback
        playback = played and {
            "file": self.playing,
            "number": played.number + 1,
            "of": len(played.recordings),
            "label": None if played.label is None else str(played.label),
            "paused": played.paused,
            "loop": played.loop,
            "ended": played.ended,
            "speed": played.speed,
            "progress": round(played.progress, 3),
        }
        source = "file" if played else "camera" if show.camera is not None else "draw"
        camera = show.camera
        self._score_again()
        return {
            "source": source,
            "ended": bool(camera is not None and camera.ended and not played),
            "dropped": int(getattr(camera, "dropped", 0)),
            "lost": int(getattr(camera, "lost", None) or 0),
            "waiting": int(getattr(camera, "waiting", 0)),
            "behind_s": round(show.behind(), 3),
            "drift": show.watch.text,
            "diverged": show.diverged,
            "label": None if show.label is None else str(show.label),
            "adapt": show.session.adapts,
            "undo": show.undoable,
            "record": show.recorder.on,
            "recorded": show.recorder.events,
            "full": show.recorder.full,
            "playback": playback,
            "files": list(self.files),
            "look": show.pad.look if show.pad else None,
            "unsaved": show.learned,
            "out": None if self.out is None else str(self.out),
            "score": self.score,
        }

    def _score_again(self) -> None:
        """Score the network if it has changed, one at a time; one that learns all the time only now and then."""
        view, (scored, version) = self.show.view, self._scored
        if self.held_out is None or (view, view.version) == (scored, version):
            return
        if view is scored and self.show.session.adapts and time.monotonic() < self._rest:
            return
        if self._scoring is None or self._scoring.done():
            self._scored, self._rest = (view, view.version), time.monotonic() + _REST
            self._scoring = self._scorer.submit(self._score, view.network, view is not scored)

    def _score(self, network: Network, first: bool = False) -> None:
        """Compare the network with how it began; in a thread of its own."""
        now = self._score_of(network)
        self.score = {"before": now if first or not self.score else self.score["before"], "now": now}

    def _score_of(self, network: Network) -> float | None:
        """Recording accuracy on what was held out, of the classes that the network has."""
        if self.held_out is None:
            return None
        names = {str(name): name for name in network.classes.tolist()}
        labels = [str(label) for label in self.held_out.labels]  # type: ignore[union-attr]
        known = [r for r, label in enumerate(labels) if label in names]
        if not known:
            return None
        some = self.held_out[known].with_labels([names[labels[r]] for r in known])
        return float(network.evaluate(some)["recording_accuracy"])

    async def do(self, asked: dict[str, Any]) -> str:
        """Do one thing; what to tell the page."""
        act = asked.get("do")
        call = _ACTS.get(act) if isinstance(act, str) else None
        if call is None:
            raise SettingError(f"There is no act {act!r}.")
        if act == "save":
            return await self.save()
        return str(await self._ask(lambda: call(self, asked)) or "")

    async def _ask(self, what: Callable[[], Any]) -> Any:
        return await asyncio.wrap_future(self.show.ask(what))

    async def save(self) -> str:
        """Write the model to the path that was given."""
        if self.out is None:
            raise SettingError("No path was given (--out): download the model.")
        network = await self._ask(self._to_save)
        try:
            await asyncio.to_thread(network.save, self.out)
        except BaseException:
            self.show.learned = True
            raise
        return f"Saved to {self.out}"

    def _to_save(self) -> Network:
        """The network; what is learned from here on is not saved."""
        network = self.show.taught()
        self.show.learned = False
        return network

    async def write(self, path: Path) -> None:
        """Write the model, or what was recorded, for a page to download."""
        if path.suffix == ".npz":
            network = self.show.session.network
            record = self.show.recorder.recordings
            recorded = await self._ask(lambda: record(network.field, max(network.polarities, 2)))
            await asyncio.to_thread(npz.write, path, recorded)
            return
        network = await self._ask(self.show.taught)
        await asyncio.to_thread(network.save, path)

    async def load(self, held: bytes) -> str:
        """Continue with the model of a file that the page sends; everything in it is checked."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.tsf"
            path.write_bytes(held)
            try:
                network = await asyncio.to_thread(Network.load, path)
            except TimesurfError as error:
                raise SettingError(str(error).replace(str(path), "The file")) from error
        if len(network.field) > 2:
            raise SettingError(
                f"This network has a field of {len(network.field)} dimensions: a page shows at most two."
            )
        fitted = await asyncio.to_thread(
            lambda: {name: self._fit(recordings, network, name) for name, recordings in self._given.items()}
        )
        await self._ask(lambda: self._begin(network, fitted))
        return "Loaded."

    def _begin(self, network: Network, files: dict[str, Recordings]) -> None:
        """Continue with another network, and what it takes of the files."""
        self.show.begin(network)
        self.files, self.held_out, self.score = files, None, None
        with suppress(SettingError):  # of another field: there is no score
            if self._given_held_out is not None:
                self.held_out = self._fit(self._given_held_out, network, _HELD_OUT)
        if self.show.playback is not None and self.playing is not None:
            self.show.playback.recordings = files[self.playing]
            self.show.playback.next(0)

    def nobody(self) -> None:
        """The last page has gone: nothing is taught any more."""
        self.show.ask(lambda: self.show.teach(None))

    def _draw(self, asked: dict[str, Any]) -> None:
        if self.show.pad is None:
            raise SettingError("There is nothing to draw on: the network's field is no plane.")
        points = asked["points"]
        if not isinstance(points, list) or len(points) > _MOST_POINTS:
            raise SettingError(f"A message has at most {_MOST_POINTS} points.")
        self.show.pad.draw(points, new=bool(asked.get("new")))

    def _play(self, asked: dict[str, Any]) -> None:
        name = asked.get("file")
        if name is not None and name not in self.files:
            raise SettingError(f"There is no file {name!r}.")
        self.playing = name
        self.show.play(None if name is None else self.files[name])

    def _control(self, asked: dict[str, Any]) -> None:
        played = self.show.playback
        if played is None:
            raise SettingError("Nothing is played back.")
        if "paused" in asked:
            played.paused = bool(asked["paused"])
        if "loop" in asked:
            played.loop = bool(asked["loop"])
        if "speed" in asked:
            played.go_at(float(asked["speed"]))
        if asked.get("step"):
            played.step()
        if "next" in asked:
            played.next(int(asked["next"]))

    def _look(self, asked: dict[str, Any]) -> None:
        if self.show.pad is not None:
            self.show.pad.look_by(str(asked["look"]))
            self.show.clear()

    def _record(self, asked: dict[str, Any]) -> None:
        if asked.get("on"):
            self.show.recorder.clear()
        self.show.recorder.on = bool(asked.get("on"))

    def _new(self, asked: dict[str, Any]) -> str:
        self.show.add_class(str(asked["name"]))
        return "Hold its button to show more of it."


_ACTS: dict[str, Callable[[Acts, dict[str, Any]], Any]] = {
    "adapt": lambda acts, asked: acts.show.adapt(bool(asked.get("on"))),
    "clear": lambda acts, asked: acts.show.clear(),
    "control": Acts._control,
    "draw": Acts._draw,
    "forget": lambda acts, asked: acts.show.forget(asked["name"]),
    "label": lambda acts, asked: acts.show.teach(asked.get("name")),
    "look": Acts._look,
    "new": Acts._new,
    "play": Acts._play,
    "record": Acts._record,
    "save": Acts._control,  # done by `save`
    "undo": lambda acts, asked: acts.show.undo(),
}
