"""What a network takes recordings for: one line a recording; of folders and buckets of any size, on many workers.

Over many files a task is some of them. Each is opened where the task runs, goes through the network some events at a
time, and leaves one Parquet file, named after it, once it is done. So whoever runs a file, and however often, its rows
are there once; what is there already is not made again: a run that was interrupted goes on, and one over a folder that
has grown adds what is new.
"""

from __future__ import annotations

import hashlib
import io
import json
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from timesurf.datasets import sources
from timesurf.engines import Outcome
from timesurf.errors import EventError, MissingEngineError, ModelFileError, TimesurfError
from timesurf.events import Recordings
from timesurf.network import Network
from timesurf.storage import remote
from timesurf.storage.atomic import replacing

ABOUT = "_about.json"  # readers of Parquet pass over what begins so
_BYTES_A_TASK = 64 << 20  # of files: seconds of work, so that one that is lost is not much
_TRIES = 3  # of files whose workers died; after the first each is on its own


def table(network: Network, recordings: Recordings, outcome: Outcome) -> dict[str, list[Any]]:
    """Columns, one line a recording: number, label, decision, its share of the votes, events, kept, votes of each.

    A recording without votes has neither decision nor share.
    """
    total, most = outcome.votes.sum(axis=1), outcome.votes.argmax(axis=1)
    labels = [None] * len(total) if recordings.labels is None else recordings.labels.tolist()
    shares = outcome.votes.max(axis=1) / np.maximum(total, 1)
    return {
        "recording": list(range(len(total))),
        "label": labels,
        "decision": [network.classes[n].item() if votes else None for n, votes in zip(most, total, strict=True)],
        "confidence": [round(float(s), 4) if votes else None for s, votes in zip(shares, total, strict=True)],
        "events": outcome.events.tolist(),
        "kept": total.tolist(),
        **{f"votes {name}": votes.tolist() for name, votes in zip(network.classes, outcome.votes.T, strict=True)},
    }


@dataclass(slots=True)
class Summary:
    """How a run over many files went."""

    files: int = 0  # that there are
    before: int = 0  # of them done in earlier runs
    recordings: int = 0
    events: int = 0
    failed: dict[str, str] = field(default_factory=dict)  # files that could not be read, and why; tried again next time


def predict_files(
    client: Any,
    network: Network,
    data: str,
    out: str,
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Summary:
    """Decisions for every file in a folder or bucket, on the workers of a `dask.distributed.Client`, as Parquet.

    data, out : folders that all workers see, or addresses such as s3://bucket/folder
    progress : told how many files are done, of how many
    """
    store = _Store(out)
    root, sizes = files(data)
    store.open(network, root)
    there = store.names()
    left = {name: size for name, size in sizes.items() if part(name) not in there}
    summary = Summary(len(sizes), len(sizes) - len(left))
    groups = list(_groups(left))
    finished = summary.before
    progress(finished, len(sizes))
    for names, (recordings, events, failed) in _each(client, groups, (_decide, network, root, store)):
        summary.recordings += recordings
        summary.events += events
        summary.failed |= failed
        finished += len(names)
        progress(finished, len(sizes))
    return summary


def files(data: str) -> tuple[str, dict[str, int]]:
    """A folder or bucket, and the names of all files of recordings in it, from there, with their sizes in bytes.

    One file is its folder with no other file.
    """
    data = _whole(data)
    if remote.is_url(data):
        store, root = remote.at(data)
        found = {PurePosixPath(path): about["size"] for path, about in store.find(root, detail=True).items()}
    else:
        root, place = data, Path(data)
        every = [place] if place.is_file() else place.rglob("*")
        found = {PurePosixPath(file): file.stat().st_size for file in every if file.is_file()}
    if list(found) == [PurePosixPath(root)]:
        return data.rpartition("/")[0] or ".", {PurePosixPath(root).name: found[PurePosixPath(root)]}
    known = {
        str(path.relative_to(root)): found[path] for path in sorted(found) if path.suffix.lower() in sources.SUFFIXES
    }
    if not known:
        raise EventError(
            f"{data} is no folder with files of recordings ({', '.join(sources.SUFFIXES)}), nor one of them."
        )
    return data, known


def _whole(place: str) -> str:
    """An address, or the whole path of a folder: workers may run in another."""
    return place.rstrip("/") if remote.is_url(place) else str(Path(place).resolve())


def _groups(sizes: dict[str, int]) -> Iterator[list[str]]:
    """Files that make one task: as many as are worth it."""
    group: list[str] = []
    together = 0
    for name, size in sizes.items():
        group.append(name)
        together += size
        if together >= _BYTES_A_TASK:
            yield group
            group, together = [], 0
    if group:
        yield group


def _each(client: Any, groups: list[list[str]], task: tuple[Any, ...]) -> Iterator[tuple[list[str], Any]]:
    """What came of every group, as it comes; no more are given out than keep the workers busy."""
    from distributed import KilledWorker, as_completed

    call, *about = task
    ahead = deque((group, _TRIES) for group in groups)
    running: dict[Any, tuple[list[str], int]] = {}
    queue = as_completed([])
    while ahead or running:
        while ahead and len(running) < 2 * max(sum(client.nthreads().values()), 1):
            group, tries = ahead.popleft()
            future = client.submit(call, *about, group, pure=False)
            running[future] = group, tries
            queue.add(future)
        future = next(queue)
        group, tries = running.pop(future)
        try:
            yield group, future.result()
        except CancelledError:  # the cluster has lost it
            if tries == 1:
                raise
            ahead.append((group, tries - 1))
        except KilledWorker:  # workers died of it, or of what else they had to do
            if tries == 1:
                yield group, (0, 0, {group[0]: "workers died of it, perhaps for want of memory."})
            else:
                ahead.extend(([name], tries - 1) for name in group)


def _decide(network: Network, root: str, store: _Store, names: list[str]) -> tuple[int, int, dict[str, str]]:
    """On a worker: run these files; recordings and events that there were, and what could not be read."""
    network.threads = 1  # a worker has as many tasks as threads
    recordings = events = 0
    failed: dict[str, str] = {}
    for name in names:
        place = f"{root}/{name}"
        try:
            columns = _one(network, place)
            store.write(name, columns)
        except (TimesurfError, OSError) as error:
            failed[name] = str(error)
        else:
            recordings += len(columns["recording"])
            events += sum(columns["events"])
        if remote.is_url(place):
            remote.drop(place)  # a bucket may hold more than this machine
    return recordings, events, failed


def _one(network: Network, place: str) -> dict[str, list[Any]]:
    recordings = sources.fitted(sources.load(place), network.field, network.polarities)
    return table(network, recordings, network.infer(recordings))


def part(name: str) -> str:
    """What the Parquet file with the decisions of a file of recordings is called.

    >>> part("monday/1.npz")
    'part-1-c524a1fb4284.parquet'
    """
    return f"part-{PurePosixPath(name).stem[:40]}-{hashlib.sha256(name.encode()).hexdigest()[:12]}.parquet"


class _Store:
    """A folder or bucket of Parquet files, one for every file of recordings that is done."""

    def __init__(self, out: str) -> None:
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError as error:
            raise MissingEngineError("Parquet needs pyarrow: pip install 'timesurf[dask]'.") from error
        self.out = _whole(out)

    def open(self, network: Network, data: str) -> None:
        """Begin, or go on with what the same network has begun."""
        about = json.dumps({"network": _fingerprint(network), "data": data}, indent=1).encode()
        before = self._read(ABOUT)
        if before is None:
            self._write(ABOUT, about)
        elif before != about:
            raise ModelFileError(
                f"{self.out} holds decisions of another network or about other data, as its {ABOUT} says: "
                "choose another folder, or remove that one."
            )

    def names(self) -> set[str]:
        """Of all files that are there."""
        if remote.is_url(self.out):
            store, root = remote.at(self.out)
            return {PurePosixPath(path).name for path in store.ls(root, detail=False)}
        return {path.name for path in Path(self.out).iterdir()}

    def write(self, name: str, columns: dict[str, list[Any]]) -> None:
        """The decisions of one file of recordings."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        types = {column: pa.int64() for column in columns} | {"confidence": pa.float64()}
        types |= dict.fromkeys(("label", "decision"), pa.string())
        arrays = {"file": pa.array([name] * len(columns["recording"]), pa.string())}
        for column, values in columns.items():
            text = types[column] == pa.string()
            said = [None if value is None else str(value) for value in values] if text else values
            arrays[column] = pa.array(said, types[column])
        buffer = io.BytesIO()
        pq.write_table(pa.table(arrays), buffer)
        self._write(part(name), buffer.getvalue())

    def _read(self, name: str) -> bytes | None:
        with suppress(FileNotFoundError):
            if remote.is_url(self.out):
                store, root = remote.at(self.out)
                content: bytes = store.cat_file(f"{root}/{name}")
                return content
            return (Path(self.out) / name).read_bytes()
        return None

    def _write(self, name: str, content: bytes) -> None:
        if not remote.is_url(self.out):
            Path(self.out).mkdir(parents=True, exist_ok=True)
            with replacing(Path(self.out) / name) as file:
                file.write(content)
            return
        store, root = remote.at(self.out)
        store.makedirs(root, exist_ok=True)
        half = f"{root}/.{uuid.uuid4().hex}"  # object storage shows an object once it is whole; others do not
        store.pipe_file(half, content)
        store.mv(half, f"{root}/{name}")


def _fingerprint(network: Network) -> str:
    about = f"{network!r} {network.classes.tolist()} {network.parameters.digest()}"
    return hashlib.sha256(about.encode()).hexdigest()[:16]
