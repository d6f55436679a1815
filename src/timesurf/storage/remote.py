"""Files in object storage and on the web, through fsspec (part of the extra `dask`): copied to this machine once.

s3://bucket/digits.npz      gs://...      https://...      whatever fsspec supports, with what it needs installed
"""

from __future__ import annotations

import hashlib
import shutil
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from timesurf.errors import MissingEngineError
from timesurf.storage import cache
from timesurf.storage.atomic import replacing

_origins: dict[str, str] = {}  # the address of each copy


def is_url(what: str | Path) -> bool:
    """Whether this is the address of a remote file.

    Examples
    --------
    >>> is_url("s3://bucket/digits.npz"), is_url("digits.npz")
    (True, False)

    """
    return "://" in str(what)


def local(url: str) -> Path:
    """A copy of a remote file on this machine, in the cache folder; fetched again if the file has changed.

    Copies of different content have different names.

    Parameters
    ----------
    url : str
        Address of the file.

    Returns
    -------
    Path
        The copy.

    """
    files, path = at(url)
    about = files.info(path)
    state = [about.get(name) for name in ("size", "ETag", "mtime", "LastModified")]
    name = hashlib.sha256(f"{url} {files.ukey(path)} {state}".encode()).hexdigest()[:32]
    copy = cache.folder() / (name + PurePosixPath(path).suffix)
    if not copy.exists():
        with files.open(path, "rb") as source, replacing(copy) as target:
            shutil.copyfileobj(source, target, 1 << 22)
    _origins[str(copy)] = url
    return copy


def drop(url: str) -> None:
    """Remove the copy of a file, if there is one; arrays that are mapped from it stay valid."""
    for copy, came_from in list(_origins.items()):
        if came_from == url:
            with suppress(PermissionError):  # Windows keeps a file that is mapped
                Path(copy).unlink(missing_ok=True)
            del _origins[copy]


def origin(file: str) -> str | None:
    """The address of the file that a copy was made of; None for any other file."""
    return _origins.get(file)


def at(url: str) -> tuple[Any, str]:
    """The file system of an address, and the path in it."""
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
