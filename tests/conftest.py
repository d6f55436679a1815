import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("default", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", parent=settings.get_profile("default"), max_examples=3000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def data_folder():
    """Real recordings, where they are: $TIMESURF_DATA or ../shared/data beside the checkout."""
    places = [os.environ.get("TIMESURF_DATA"), Path(__file__).parents[2] / "shared" / "data"]
    for place in places:
        if place and Path(place).is_dir():
            return Path(place)
    pytest.skip("no real recordings here: put the .npz files in a folder and set TIMESURF_DATA to it")
