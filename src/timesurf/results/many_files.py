"""Decisions on all recordings in a folder or bucket of any size, made on the workers of Dask, as Parquet.

A task is a group of files. A worker opens each file, runs it through the network, and writes one Parquet file, named
after it, when it is finished. So each file has its rows exactly once, whichever worker runs it and however often. Files
that have been done are skipped: an interrupted run continues, and a run over a folder that has grown adds what is new.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from timesurf.datasets import sources
from timesurf.errors import EventError, MissingEngineError, ModelFileError, TimesurfError
from timesurf.network import Network
from timesurf.results.decisions import as_parquet, columns
from timesurf.storage import remote
from timesurf.storage.atomic import replacing

ABOUT = "_about.json"  # readers of Parquet ignore files whose names begin with _
_BYTES_PER_TASK = 64 << 20  # seconds of work, so that little is lost with a worker
_TRIES = 3  # for files whose workers died; after the first try each file is a task of its own


@dataclass(slots=True)
class Summary:
    """Result of a run over many files.

    Attributes
    ----------
    files : int
        Files in the folder or bucket.
    before : int
        Files that earlier runs had finished.
    recordings, events : int
        What this run decided on.
    failed : dict of str
        Files that could not be read, and why; the next run tries them again.

    """

    files: int = 0
    before: int = 0
    recordings: int = 0
    events: int = 0
    failed: dict[str, str] = field(default_factory=dict)


def predict_files(
    client: Any,
    network: Network,
    data: str,
    out: str,
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Summary:
    """Decide on every recording in a folder or bucket, on the workers of Dask, and write the decisions as Parquet.

    Parameters
    ----------
    client : dask.distributed.Client
        The cluster.
    network : Network
        A trained network.
    data : str
        Recordings: a folder that all workers can read, or an address such as s3://bucket/folder.
    out : str
        Where the Parquet files go, likewise.
    progress : callable
        Called with the number of files done and the number of all files.

    Returns
    -------
    Summary
        What was done and what failed.

    Raises
    ------
    EventError
        If there are no files of recordings.
    ModelFileError
        If `out` holds decisions of another network or on other data.

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
    """Find all files of recordings in a folder or bucket.

    Parameters
    ----------
    data : str
        A folder, a bucket, or a single file.

    Returns
    -------
    root : str
        The folder or bucket; of a single file, its folder.
    sizes : dict of int
        Sizes in bytes, by name relative to `root`.

    """
    data = _absolute(data)
    if remote.is_url(data):
        store, root = remote.at(data)
        found = {PurePosixPath(path): about["size"] for path, about in store.find(root, detail=True).items()}
    else:
        place = Path(data)
        data = root = place.as_posix()
        every = [place] if place.is_file() else place.rglob("*")
        found = {PurePosixPath(file.as_posix()): file.stat().st_size for file in every if file.is_file()}
    if list(found) == [PurePosixPath(root)]:
        return data.rpartition("/")[0] or ".", {PurePosixPath(root).name: found[PurePosixPath(root)]}
    known = {
        str(path.relative_to(root)): found[path] for path in sorted(found) if path.suffix.lower() in sources.SUFFIXES
    }
    if not known:
        raise EventError(
            f"{data} is not a folder with files of recordings ({', '.join(sources.SUFFIXES)}), nor one such file."
        )
    return data, known


def _absolute(place: str) -> str:
    """An address, or the absolute path of a folder, since workers may run in other folders."""
    return place.rstrip("/") if remote.is_url(place) else str(Path(place).resolve())


def _groups(sizes: dict[str, int]) -> Iterator[list[str]]:
    """Group files into tasks of about `_BYTES_PER_TASK` each."""
    group: list[str] = []
    together = 0
    for name, size in sizes.items():
        group.append(name)
        together += size
        if together >= _BYTES_PER_TASK:
            yield group
            group, together = [], 0
    if group:
        yield group


def _each(client: Any, groups: list[list[str]], task: tuple[Any, ...]) -> Iterator[tuple[list[str], Any]]:
    """Results of all groups in the order they finish; at most two tasks per thread are submitted at a time.

    A file during which workers died several times is tried once more with nothing else running: only then is it certain
    that they did not die of another file.
    """
    from distributed import KilledWorker, as_completed

    call, *about = task
    ahead = deque((group, _TRIES) for group in groups)
    running: dict[Any, tuple[list[str], int]] = {}
    suspects: list[list[str]] = []
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
        except CancelledError:  # the cluster lost the task
            if tries == 1:
                raise
            ahead.append((group, tries - 1))
        except KilledWorker:  # workers died during this task, or during another they were running
            if tries == 1:
                suspects += [[name] for name in group]
            else:
                ahead.extend(([name], tries - 1) for name in group)
    for group in suspects:
        try:
            yield group, client.submit(call, *about, group, pure=False).result()
        except KilledWorker:
            yield group, (0, 0, {group[0]: "workers died while reading it, possibly out of memory."})


def _decide(network: Network, root: str, store: _Store, names: list[str]) -> tuple[int, int, dict[str, str]]:
    """On a worker: decide on these files; numbers of recordings and events, and the files that could not be read."""
    network.threads = 1  # Dask runs as many tasks on a worker as it has threads
    recordings = events = 0
    failed: dict[str, str] = {}
    for name in names:
        place = f"{root}/{name}"
        try:
            table = _one(network, place)
            store.write(name, table)
        except (TimesurfError, OSError) as error:
            failed[name] = str(error)
        else:
            recordings += len(table["recording"])
            events += sum(table["events"])
        if remote.is_url(place):
            remote.drop(place)  # a bucket may be larger than the disk of this machine
    return recordings, events, failed


def _one(network: Network, place: str) -> dict[str, list[Any]]:
    """Decisions on the recordings of one file."""
    recordings = sources.fitted(sources.load(place), network.field, network.polarities, network.preparation)
    return columns(network, recordings, network.infer(recordings))


def part(name: str) -> str:
    """Name of the Parquet file with the decisions on one file of recordings.

    Examples
    --------
    >>> part("monday/1.npz")
    'part-1-c524a1fb4284.parquet'

    """
    return f"part-{PurePosixPath(name).stem[:40]}-{hashlib.sha256(name.encode()).hexdigest()[:12]}.parquet"


class _Store:
    """A folder or bucket of Parquet files, one per file of recordings that is done."""

    def __init__(self, out: str) -> None:
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError as error:
            raise MissingEngineError("Parquet needs pyarrow: pip install 'timesurf[dask]'.") from error
        self.out = _absolute(out)

    def open(self, network: Network, data: str) -> None:
        """Begin, or continue what the same network began on the same data."""
        about = json.dumps({"network": _fingerprint(network), "data": data}, indent=1).encode()
        before = self._read(ABOUT)
        if before is None:
            self._write(ABOUT, about)
        elif before != about:
            raise ModelFileError(
                f"{self.out} holds decisions of another network or on other data, according to its {ABOUT}: "
                "choose another folder, or remove this one."
            )

    def names(self) -> set[str]:
        """Names of all files in it."""
        if remote.is_url(self.out):
            store, root = remote.at(self.out)
            return {PurePosixPath(path).name for path in store.ls(root, detail=False)}
        return {path.name for path in Path(self.out).iterdir()}

    def write(self, name: str, table: dict[str, list[Any]]) -> None:
        """Write the decisions on one file of recordings."""
        table = {"file": [name] * len(table["recording"]), **table}
        self._write(part(name), as_parquet(table))

    def _read(self, name: str) -> bytes | None:
        """The content of a file, None if there is no such file."""
        with suppress(FileNotFoundError):
            if remote.is_url(self.out):
                store, root = remote.at(self.out)
                content: bytes = store.cat_file(f"{root}/{name}")
                return content
            return (Path(self.out) / name).read_bytes()
        return None

    def _write(self, name: str, content: bytes) -> None:
        """Write a file completely or not at all."""
        if not remote.is_url(self.out):
            Path(self.out).mkdir(parents=True, exist_ok=True)
            with replacing(Path(self.out) / name) as file:
                file.write(content)
            return
        store, root = remote.at(self.out)
        store.makedirs(root, exist_ok=True)
        half = f"{root}/.{uuid.uuid4().hex}"  # object storage shows only complete objects, other file systems do not
        store.pipe_file(half, content)
        store.mv(half, f"{root}/{name}")


def _fingerprint(network: Network) -> str:
    """A short name for this network: layers, classes, every bit of its parameters, and how it decides."""
    how = f"{network.decides} {network.calibration} {network.preparation}"
    about = f"{network!r} {network.classes.tolist()} {network.parameters.digest()} {how}"
    return hashlib.sha256(about.encode()).hexdigest()[:16]
