"""Real faults, each injected a few times; `python -m tests.faults` injects them often."""

import sys

import numpy as np
import pytest

from tests import faults

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="injected with signals, limits and /proc of Linux")


@pytest.fixture(scope="module", params=[10, None], ids=["batches", "online"])
def runs(request, tmp_path_factory):
    some = faults.Runs(tmp_path_factory.mktemp("runs"), batch_size=request.param)
    yield some
    some.end()


@pytest.mark.parametrize("fault", faults.FAULTS, ids=lambda fault: fault.__name__)
def test_nothing_is_lost(runs, fault):
    online = runs.batch_size is None
    if online and fault is not faults.killed:
        pytest.skip("injected into the training in batches")
    rng = np.random.default_rng(online)
    try:
        for _ in range(3 if fault is faults.killed else 1):
            fault(runs, rng)
    except faults.SkippedError as why:
        pytest.skip(str(why))
