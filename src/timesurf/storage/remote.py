"""Files of object storage and of the web, through fsspec (it comes with the extra `dask`): copied here once.

s3://bucket/digits.npz      gs://...      https://...      whatever fsspec knows, with what it needs installed
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path, PurePosixPath
from typing import Any

from timesurf.errors import MissingEngineError
from timesurf.storage.atomic import replacing

_origins: dict[str, str] = {}  # where copies came from


def is_url(what: str | Path) -> bool:
    """Whether this names a file that is elsewhere.

    >>> is_url("s3://bucket/digits.npz"), is_url("digits.npz")
    (True, False)
    """
    return "://" in str(what)


def local(url: str) -> Path:
    """A copy of that file on this machine, in $TIMESURF_CACHE or ~/.cache/timesurf; fetched anew if it has changed.

    Copies of different content have different names.
    """
    files, path = at(url)
    about = files.info(path)
    state = [about.get(name) for name in ("size", "ETag", "mtime", "LastModified")]
    name = hashlib.sha256(f"{url} {files.ukey(path)} {state}".encode()).hexdigest()[:32]
    folder = Path(os.environ.get("TIMESURF_CACHE") or Path.home() / ".cache" / "timesurf")
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / (name + PurePosixPath(path).suffix)
    if not copy.exists():
        with files.open(path, "rb") as source, replacing(copy) as target:
            shutil.copyfileobj(source, target, 1 << 22)
    _origins[str(copy)] = url
    return copy


def drop(url: str) -> None:
    """Remove the copy of a file, if there is one; who has it mapped keeps it until they are done."""
    for copy, came_from in list(_origins.items()):
        if came_from == url:
            Path(copy).unlink(missing_ok=True)
            del _origins[copy]


def origin(file: str) -> str | None:
    """The address that a copy came from; None for any other file."""
    return _origins.get(file)


def at(url: str) -> tuple[Any, str]:
    """What gives access to an address, and the path there."""
    try:
        import fsspec
    except ImportError as error:
        raise MissingEngineError(f"{url} needs fsspec: pip install 'timesurf[dask]'.") from error
    try:
        files, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        raise MissingEngineError(f"{url} cannot be opened here: {error}.") from error
    except ValueError as error:
        raise FileNotFoundError(f"{url} cannot be opened: {error}.") from error
    return files, path
