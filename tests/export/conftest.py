import shutil

import pytest

COMPILERS = [
    pytest.param(cc, marks=pytest.mark.skipif(shutil.which(cc) is None, reason=f"{cc} is not installed"))
    for cc in ("gcc", "clang")
]


@pytest.fixture(params=COMPILERS)
def cc(request):
    """Each compiler that is here."""
    return request.param


@pytest.fixture
def any_cc():
    """One compiler, whichever is here."""
    for name in ("gcc", "clang"):
        if shutil.which(name):
            return name
    pytest.skip("no C compiler is installed")
