"""Connect to a Dask cluster, or start one on the cores of this machine (the extra `dask`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from timesurf.errors import MissingEngineError, SettingError

_PATIENCE = 30  # s to wait for the first worker
# Dask makes workers return freed memory to the system at once, so every large array costs one page fault per page.
_KEEP_MEMORY = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 1 << 30,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 1 << 25,
}


@contextmanager
def connect(address: str, workers: int | None = None) -> Iterator[Any]:
    """A client of a Dask cluster, for the length of a `with` block.

    Parameters
    ----------
    address : str
        Address of the scheduler, such as "tcp://10.0.0.1:8786"; "local" starts a cluster on this machine, which ends
        with the block.
    workers : int or None
        Processes of the local cluster, of one thread each; None: one per core.

    Yields
    ------
    dask.distributed.Client
        The client.

    Raises
    ------
    MissingEngineError
        Dask is not installed.
    SettingError
        The address is not one of a scheduler, it has no workers, or these lack timesurf.
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
            raise SettingError(f"{address!r} is not the address of a Dask scheduler: {error}.") from error
        with client:
            _check(client, address)
            yield client
        return
    from timesurf.engines.cpu.threads import cores

    with (
        dask.config.set(_KEEP_MEMORY),
        LocalCluster(
            n_workers=workers or cores(), threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def _check(client: Any, address: str) -> None:
    """Refuse a cluster without workers, or whose workers lack timesurf, rather than wait for it."""
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError as error:
        raise SettingError(
            f"The scheduler at {address} has no workers: start some with `dask worker {address}`."
        ) from error
    without = [worker for worker, spec in client.run(find_spec, "timesurf").items() if spec is None]
    if without:
        raise SettingError(
            f"Workers lack timesurf ({', '.join(without[:3])}): install on all of them the version that is used here."
        )
