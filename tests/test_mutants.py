"""The mutation tool on a toy package: which mutants it makes, and that it tells caught ones from survivors."""

import ast
import dataclasses
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter

import numpy as np
import pytest

from tests import mutants
from tests.mutations import Finder
from tests.nearest import REASONS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and limits of POSIX")


def kinds(source):
    return [mutant.kind for mutant in Finder("toy.py", source.encode()).found]


@pytest.mark.parametrize(
    ("source", "kind", "after"),
    [
        ("a < b", "lt->le", "a <= b"),
        ("a is not b", "isnot->is", "a is b"),
        ("(a) + (b)", "add->sub", "(a) - (b)"),
        ("a / b", "div->mul", "a * b"),
        ("a += b", "add->sub", "a -= b"),
        ("a and b", "and->or", "a or b"),
        ("not (a)", "drop-not", "(a)"),
        ("-(a)", "drop-minus", "(a)"),
        ("max(a, b)", "max->min", "min(a, b)"),
        ("np.argmin(a)", "argmin->argmax", "np.argmax(a)"),
        ("a = 0.5", "0.5->0.55", "a = 0.55"),
        ("a = 7", "7->8", "a = 8"),
        ("a = True", "True->False", "a = False"),
        ("def f(a):\n    a[b] = c", "drop-statement", "pass"),
        ("def f(a):\n    a(b)", "drop-statement", "pass"),
    ],
)
def test_a_change_of_each_kind(source, kind, after):
    (mutant,) = Finder("toy.py", source.encode()).found
    assert mutant.kind == kind
    assert mutant.change(source.encode())[1] == after


@pytest.mark.parametrize(
    "source",
    [
        '"""a < 1"""',
        'f"{a + 1}"',
        "def f(a: Literal[1] = b) -> Literal[2]: ...",
        "def __repr__(self): return 1 + self.a",
        'def f():\n    raise ValueError(1 + a, "x")',
        "def f():\n    warnings.warn(text, stacklevel=2)",
        "@njit(cache=True)\ndef f(): ...",
        "f = lru_cache(maxsize=8)(g)",
        "zip(a, b, strict=True)",
        "json.dumps(a, indent=1)",
        "_AT_ONCE = 1 << 20",  # tests/test_at_once.py
        "int | float",
        "def f():\n    a = b",  # without it any test fails
    ],
)
def test_what_is_not_behaviour_is_not_mutated(source):
    assert kinds(source) == []


def test_a_size_that_numpy_works_out_may_be_any_negative_number():
    assert kinds("a.reshape(b, -1)") == ["drop-minus"]
    assert kinds("a.sum(-1)") == ["drop-minus", "1->2"]
    assert np.arange(6).reshape(2, -2).shape == np.arange(6).reshape(2, -1).shape


def test_operators_are_found_beside_comments_of_the_same_sign():
    assert kinds("x = (a  # + or -\n    + b)") == ["add->sub"]


def test_every_mutant_of_the_core_is_another_valid_program_with_an_id_of_its_own():
    ids = Counter()
    for module in mutants.THIS.core():
        source = (mutants.THIS.source / module).read_bytes()
        whole = ast.dump(ast.parse(source))
        found = Finder(module, source).found
        for mutant in found[::40]:
            assert ast.dump(ast.parse(mutant.apply(source))) != whole
        ids.update(mutant.id for mutant in found)
    assert max(ids.values()) == 1


def test_reasons_are_of_mutants_that_there_are():
    """Where code has moved, so must the reason why its mutants survive."""
    found = set()
    for module in {module for module, _ in REASONS}:
        source = (mutants.THIS.source / module).read_bytes()
        found |= {(module, mutant.change(source)[1]) for mutant in Finder(module, source).found}
    assert set(REASONS) <= found


def test_a_sample_is_even_over_modules_and_the_same_for_the_same_seed():
    found = [mutant for name, n in (("a", 3), ("b", 50), ("c", 50)) for mutant in Finder(name, b"0\n" * n).found]
    sample = mutants.draw(found, 23, seed=1)
    assert Counter(mutant.module for mutant in sample) == {"a": 3, "b": 10, "c": 10}
    assert sample == mutants.draw(found, 23, seed=1) != mutants.draw(found, 23, seed=2)


TOY = {
    "src/toy/__init__.py": "",
    "src/toy/rates.py": "RATE = 3\n\ndef least(a, b):\n    return min(a, b)\n\ndef sign(a):\n    return a < 0\n",
    "src/toy/kernel.py": """
        from numba import njit
        from toy.rates import RATE

        @njit(cache=True)
        def scaled(a):
            return RATE * a
        """,
    "tests/test_rates.py": """
        from toy import rates

        def test_rates():
            assert rates.least(1, 2) == 1
            assert rates.sign(-1) and not rates.sign(1)
            assert rates.RATE == 3
        """,
}
COMPILED = """
from toy import kernel, rates

def test_rates():
    assert rates.least(1, 2) == 1
    assert rates.sign(-1) and not rates.sign(1)
    assert kernel.scaled(2.0) == 6.0
"""


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A package whose tests run no kernel, which would be compiled for every mutant."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # its tests need no plugin, and most of a run loads them
    for name, text in TOY.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(textwrap.dedent(text), "utf-8")
    return mutants.Project(tmp_path, "toy", {"rates.py": ["tests/test_*.py"]}, ["__init__.py", "kernel.py"])


@pytest.fixture
def compiled(toy):
    """The same package, whose tests run its kernel."""
    (toy.root / "tests/test_rates.py").write_text(COMPILED, "utf-8")
    return toy


def contents(project):
    return {path: path.read_bytes() for path in project.root.rglob("*.py")}


def test_survivors_are_told_from_mutants_that_tests_catch(compiled, tmp_path, capsys):
    """The number is compiled into a kernel of another file, whose cache numba would go on using."""
    before = contents(compiled)
    assert mutants.main(["--json", str(tmp_path / "found.json")], compiled) == 0
    found = json.loads((tmp_path / "found.json").read_text("utf-8"))
    caught = {result["id"]: result["caught"] for result in found["results"]}
    assert caught == {
        "rates.py:1:8:3->4": True,
        "rates.py:4:12:min->max": True,
        "rates.py:7:14:lt->le": False,  # no test asks for the sign of 0
        "rates.py:7:16:0->1": False,
    }
    assert contents(compiled) == before
    assert "+ return a <= 0" in capsys.readouterr().out


def test_one_mutant_by_its_id_with_kernels_that_are_kept(compiled, capsys, tmp_path):
    warm = tmp_path / "warm"
    assert mutants.main(["--only", "rates.py:1:8:3->4", "--warm", str(warm)], compiled) == 0
    assert "1 of    1 caught" in capsys.readouterr().out
    (kept,) = warm.iterdir()
    assert list(kept.rglob("*.nbc"))
    assert mutants.Runner(compiled, tmp_path, warm).whole == kept
    (compiled.source / "rates.py").write_text("RATE = 4\n", "utf-8")
    assert mutants.Runner(compiled, tmp_path, warm).whole != kept
    assert mutants.main(["--only", "rates.py:4:12:lt->le"], compiled) == 2
    assert "No such mutant" in capsys.readouterr().err


def test_where_tests_fail_already_no_mutant_is_judged_and_the_others_are(toy, capsys, tmp_path):
    (toy.root / "tests/test_rates.py").write_text("def test_no():\n    assert 1 == 2\n", "utf-8")
    (toy.root / "tests/other.py").write_text("from toy.other import N\n\ndef test_n():\n    assert N == 1\n", "utf-8")
    (toy.root / "src/toy/other.py").write_text("N = 1\n", "utf-8")
    toy.nearest["other.py"] = ["tests/other.py"]
    assert mutants.main(["--json", str(tmp_path / "found.json")], toy) == 2
    said, found = capsys.readouterr().out, json.loads((tmp_path / "found.json").read_text("utf-8"))
    assert "The tests of rates.py fail without any mutation" in said
    assert "assert 1 == 2" in said
    assert "Not run: 4 of 5." in said
    assert [result["id"] for result in found["results"]] == ["other.py:1:5:1->2"]
    assert (found["caught"], found["drawn"], found["complete"]) == (1, 5, False)
    assert list(found["failing"]) == ["rates.py"]


def test_tests_that_fail_already_are_left_out_and_the_others_judge(toy, capsys, tmp_path):
    (toy.root / "tests/test_fails.py").write_text(
        "import pytest\n\n@pytest.mark.parametrize('a', ['x - y', 'z'])\ndef test_no(a):\n    assert a == 'z'\n",
        "utf-8",
    )
    (toy.root / "tests/test_lacks.py").write_text("import nothing_of_this_name\n", "utf-8")
    assert mutants.main(["--json", str(tmp_path / "found.json")], toy) == 0
    found = json.loads((tmp_path / "found.json").read_text("utf-8"))
    assert sorted(found["left_out"]["rates.py"]) == ["tests/test_fails.py::test_no[x - y]", "tests/test_lacks.py"]
    assert (found["mutants"], found["caught"], found["failing"]) == (4, 2, {})
    assert "Left out of the tests of rates.py" in capsys.readouterr().out


def test_quick_draws_find_the_same_and_name_the_test_that_caught(toy, tmp_path):
    with (toy.root / "src/toy/rates.py").open("a", encoding="utf-8") as file:
        file.write(
            '\ndef twice(a):\n    """\n    >>> twice(3)\n    6\n    """\n    return a + a\n\nassert len("ab") == 2\n'
        )
    assert mutants.main(["--quick", "--json", str(tmp_path / "found.json")], toy) == 0
    found = json.loads((tmp_path / "found.json").read_text("utf-8"))
    assert {result["id"]: result["by"] for result in found["results"]} == {
        "rates.py:1:8:3->4": "tests/test_rates.py::test_rates",
        "rates.py:4:12:min->max": "tests/test_rates.py::test_rates",
        "rates.py:7:14:lt->le": "",
        "rates.py:7:16:0->1": "",
        "rates.py:14:14:add->sub": "::toy.rates.twice",
        "rates.py:16:18:eq->ne": "tests/test_rates.py",  # which cannot be imported
        "rates.py:16:21:2->3": "tests/test_rates.py",
    }
    assert (found["mutants"], found["caught"], found["complete"]) == (7, 5, True)


def test_a_test_that_fails_without_mutation_catches_nothing_in_a_quick_draw(toy, capsys, tmp_path):
    (toy.root / "tests/test_fails.py").write_text("def test_no():\n    assert 1 == 2\n", "utf-8")
    (toy.root / "tests/test_lacks.py").write_text("import nothing_of_this_name\n", "utf-8")
    assert mutants.main(["--quick", "--json", str(tmp_path / "found.json")], toy) == 0
    found = json.loads((tmp_path / "found.json").read_text("utf-8"))
    assert sorted(found["left_out"]["rates.py"]) == ["tests/test_fails.py::test_no", "tests/test_lacks.py"]
    assert (found["mutants"], found["caught"]) == (4, 2)
    assert "runs again" in capsys.readouterr().out


def test_an_example_that_fails_without_mutation_is_not_counted_in_a_quick_draw(toy, tmp_path):
    (toy.root / "src/toy/rates.py").write_text(
        'RATE = 3\n\ndef one():\n    """\n    >>> one()\n    2\n    """\n', "utf-8"
    )
    assert mutants.main(["--quick", "--json", str(tmp_path / "found.json")], toy) == 2
    found = json.loads((tmp_path / "found.json").read_text("utf-8"))
    assert (found["mutants"], list(found["failing"])) == (0, ["rates.py"])


@pytest.mark.parametrize(("each", "how"), [(2, "timed out"), (0.5, "")])
def test_a_test_that_never_ends_catches_a_mutant_in_a_quick_draw_unless_it_is_slow_anyway(
    toy, monkeypatch, tmp_path, each, how
):
    monkeypatch.setattr(mutants, "EACH", each)
    (toy.root / "src/toy/rates.py").write_text("def f(n):\n    while n > 0:\n        n -= 1\n", "utf-8")
    (toy.root / "tests/test_rates.py").write_text(
        "import time\nfrom toy.rates import f\n\ndef test_f():\n    time.sleep(0.2)\n    f(3)\n",
        "utf-8",
    )
    (toy.root / "tests/test_other.py").write_text("def test_other():\n    pass\n", "utf-8")
    main = ["--quick", "--only", "rates.py:3:11:sub->add", "--json", str(tmp_path / "found.json")]
    assert mutants.main(main, toy) == 0
    (found,) = json.loads((tmp_path / "found.json").read_text("utf-8"))["results"]
    assert (found["ended"], found["caught"]) == ((how, True) if how else ("passed", False))


def test_how_long_kernels_take_to_compile_is_kept_with_them(toy, tmp_path):
    """Else mutants would seem caught where kernels are found compiled: too little time to compile them again."""
    (tmp_path / "a").mkdir()
    slow = dataclasses.replace(toy, prepare="import os, time; time.sleep(0 if 'COMPILED' in os.environ else 2)")
    (first,) = mutants.Runner(slow, tmp_path / "a", tmp_path / "warm").prepare()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMPILED", "1")
        (then,) = mutants.Runner(slow, tmp_path / "a", tmp_path / "warm").prepare()
    assert then == first >= 2


def test_none_is_begun_that_would_not_end_in_time(toy, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(mutants, "SPARE", 1e6)
    assert mutants.main(["--minutes", "5", "--json", str(tmp_path / "found.json")], toy) == 0
    said, found = capsys.readouterr().out, json.loads((tmp_path / "found.json").read_text("utf-8"))
    assert "Time is up" in said
    assert "Not run: 4 of 4." in said
    assert (found["mutants"], found["complete"]) == (0, False)


def test_what_an_earlier_call_has_run_is_left_out_and_warnings_fail_tests_unless_asked_not_to(toy, capsys, tmp_path):
    (toy.root / "pyproject.toml").write_text("[tool.pytest.ini_options]\nfilterwarnings = ['error']\n", "utf-8")
    (toy.root / "src/toy/rates.py").write_text("A = 1\nB = 1\n", "utf-8")
    (toy.root / "tests/test_rates.py").write_text(
        "import warnings\nfrom toy.rates import A\n\ndef test_a():\n    assert A == 1\n    warnings.warn('old')\n",
        "utf-8",
    )
    assert mutants.main(["--json", str(tmp_path / "none.json")], toy) == 2
    (tmp_path / "done.json").write_text(json.dumps({"results": [{"id": "rates.py:1:5:1->2"}]}), "utf-8")
    assert mutants.main(["--lenient", "--done", str(tmp_path / "done.json")], toy) == 0
    assert "0 of    1 caught" in capsys.readouterr().out


def test_it_ends_in_time_with_what_it_has(toy, capsys, tmp_path):
    """What is compiled before takes longer than there is time."""
    slow = dataclasses.replace(toy, prepare="import time; time.sleep(600)")
    assert mutants.main(["--minutes", "0.01", "--json", str(tmp_path / "found.json")], slow) == 0
    assert "Time is up" in capsys.readouterr().out
    found = json.loads((tmp_path / "found.json").read_text("utf-8"))
    assert (found["mutants"], found["drawn"], found["complete"]) == (0, 4, False)


def test_it_does_not_start_where_nothing_can_be_compiled(toy, capsys):
    assert mutants.main([], dataclasses.replace(toy, prepare="raise SystemExit('no compiler')")) == 2
    assert "no compiler" in capsys.readouterr().err


def test_several_at_a_time_each_on_two_cores(toy, capsys):
    (toy.root / "src/toy/rates.py").write_text("A = 1\nB = 1\n", "utf-8")
    (toy.root / "tests/test_rates.py").write_text(
        "import os\nfrom toy.rates import A\n\ndef test_a():\n"
        "    assert A == 1\n    assert len(os.sched_getaffinity(0)) <= 2\n",
        "utf-8",
    )
    assert mutants.main(["--jobs", "2"], toy) == 0
    assert "1 of    2 caught" in capsys.readouterr().out


def test_a_mutant_that_never_ends_is_caught(toy, capsys, monkeypatch):
    monkeypatch.setattr(mutants, "GRACE", 2)
    (toy.root / "src/toy/rates.py").write_text("def f(n):\n    while n > 0:\n        n -= 1\n", "utf-8")
    (toy.root / "tests/test_rates.py").write_text("from toy.rates import f\n\ndef test_f():\n    f(3)\n", "utf-8")
    assert mutants.main(["--only", "rates.py:3:11:sub->add", "--timeout", "0"], toy) == 0
    assert "caught, timed out" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("nearest", "outside", "message"),
    [
        ({"rates.py": ["tests/test_*.py"]}, ["__init__.py"], "kernel.py is new"),
        ({"*": ["tests/test_*.py"], "none/*": ["tests/test_*.py"]}, [], "none/. in NEAREST matches no module"),
        ({"*": ["tests/none/*.py"]}, [], "has no tests"),
    ],
)
def test_a_module_without_tests_is_refused(toy, nearest, outside, message):
    with pytest.raises(mutants.MutantsError, match=message):
        mutants.Project(toy.root, "toy", nearest, outside).core()


def test_ctrl_c_ends_it_with_what_was_found_and_leaves_no_process(toy, tmp_path):
    """The tests of the second mutant wait for ever; their process writes its number down."""
    (toy.root / "src/toy/rates.py").write_text("A = 1\nB = 1\n", "utf-8")
    (toy.root / "tests/test_rates.py").write_text(
        "import os, pathlib, time\nfrom toy import rates\n\n\ndef test_a():\n    assert rates.A == 1\n"
        f"    if rates.B == 2:\n        pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(os.getpid()))\n"
        "        time.sleep(600)\n",
        "utf-8",
    )
    code = f"""
import sys
from pathlib import Path
from tests import mutants
project = mutants.Project(Path({str(toy.root)!r}), "toy", {toy.nearest!r}, {toy.outside!r})
sys.exit(mutants.main(["--timeout", "100"], project))
"""
    words = [sys.executable, "-c", code]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=mutants.THIS.root) as tool:
        try:
            until = time.monotonic() + 300
            while not ((tmp_path / "pid").exists() and (tmp_path / "pid").read_text("utf-8")):
                assert time.monotonic() < until
                assert tool.poll() is None  # it would never write the number
                time.sleep(0.05)
            tool.send_signal(signal.SIGINT)
            tool.send_signal(signal.SIGTERM)  # impatience does not keep it from cleaning up
            said, _ = tool.communicate(timeout=300)
        finally:
            tool.kill()
    assert tool.returncode == 130
    assert "1 of    1 caught" in said
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text("utf-8")), 0)
