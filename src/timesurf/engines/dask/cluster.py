"""Connect to a Dask cluster, or start one on the cores of this machine (the extra `dask`).

Anyone who can connect to a Dask cluster can run code in it. A cluster that is started here takes connections from this
machine alone, and only with a certificate that was made for it and never leaves the memory of its processes: other
users of the machine cannot use it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from timesurf.cores import cores
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
    with (
        dask.config.set(_KEEP_MEMORY),
        LocalCluster(
            n_workers=workers or cores(),
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
            **_private(),
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def _private() -> dict[str, Any]:
    """Settings of a cluster that takes connections only by its own certificate; none where none can be made."""
    from distributed.security import Security

    try:
        return {"security": Security.temporary(), "protocol": "tls://"}
    except ImportError:
        logging.getLogger("timesurf").warning(
            "Other users of this machine can connect to the Dask workers that start now, and run code as you: "
            "pip install 'timesurf[dask]' installs cryptography, which prevents it."
        )
        return {}


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
