"""Workers to send work to: a Dask cluster that is there, or one of this machine's cores (the extra `dask`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from timesurf.errors import MissingEngineError, SettingError

_PATIENCE = 30  # s
# Dask has workers give memory back at once, which makes every large array cost a page fault for each of its pages.
_KEEP_MEMORY = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 1 << 30,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 1 << 25,
}


@contextmanager
def connect(address: str, workers: int | None = None) -> Iterator[Any]:
    """A client of the cluster at this address, as tcp://10.0.0.1:8786.

    "local" is one on this machine, of so many processes (None: one a core) of one thread each, gone with the block.
    """
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise MissingEngineError("Many machines need Dask: pip install 'timesurf[dask]'.") from error
    if address != "local":
        try:
            client = Client(address)
        except ValueError as error:
            raise SettingError(f"{address!r} is no address of a Dask scheduler: {error}.") from error
        with client:
            _check(client, address)
            yield client
        return
    from timesurf.engines.cpu.engine import cores

    with (
        dask.config.set(_KEEP_MEMORY),
        LocalCluster(
            n_workers=workers or cores(), threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def _check(client: Any, address: str) -> None:
    """Say what is missing there, rather than wait for it."""
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError as error:
        raise SettingError(
            f"The scheduler at {address} has no workers: start some, as `dask worker {address}`."
        ) from error
    without = [worker for worker, spec in client.run(find_spec, "timesurf").items() if spec is None]
    if without:
        raise SettingError(
            f"Workers lack timesurf ({', '.join(without[:3])}): install the version that is here on all."
        )
