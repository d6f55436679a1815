import subprocess
import sys

from timesurf import plots


def test_every_name_is_there():
    assert all(callable(getattr(plots, name)) for name in plots.__all__)
    assert plots.__all__ == sorted(plots.__all__)


def test_importing_pictures_imports_no_matplotlib():
    code = "import sys; from timesurf import plots; print('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
