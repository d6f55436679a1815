"""Sizes of the general path, and the reasons for which a network is refused."""

import pytest

from tests.engines.cuda.networks import DIGITS, SENTENCES, TOO_LARGE
from timesurf import SettingError, engines
from timesurf.engines.cuda import general, paths
from timesurf.engines.cuda.work import Device, Work
from timesurf.errors import MissingEngineError

H200 = Device(132, 232_448, 90)


def test_what_does_not_fit_is_refused_with_the_way_out():
    with pytest.raises(SettingError, match="Use engine='cpu'"):
        general.plan(TOO_LARGE)


def test_without_cupy_the_engine_says_what_to_install():
    try:
        import cupy  # noqa: F401
    except ImportError:
        with pytest.raises(MissingEngineError, match=r"timesurf\[cuda\]"):
            engines.load("cuda")
        assert engines.load("auto").__name__ == "timesurf.engines.cpu.engine"


@pytest.mark.parametrize(("stages", "online"), [(TOO_LARGE, False), (DIGITS, True)])
def test_a_refusal_is_one_sentence_that_names_no_way_out(stages, online):
    """`engines.choose` says what happens instead."""
    why = paths.supports(stages, online=online)
    assert why.endswith(".")
    assert "engine=" not in why
    assert "\n" not in why


def test_what_can_run_is_not_refused():
    assert paths.supports(DIGITS) == paths.supports(SENTENCES) == ""


def test_only_what_is_asked_for_is_compiled_in():
    assert "BY_DELTA = 0, EVIDENCE = 0" in general.plan(DIGITS).source
    assert "BY_DELTA = 1, EVIDENCE = 0" in general.plan(DIGITS, delta=True).source
    assert "BY_DELTA = 0, EVIDENCE = 1" in general.plan(DIGITS, evidence=True).source


def test_the_delta_rule_logs_gains_of_all_units_of_a_wide_last_layer():
    work = Work(DIGITS, "train", largest=4, longest=64, delta=True)
    for stages, units in ((DIGITS, 10), (SENTENCES, 0)):  # the last layer of the second is written out
        spaces = general.plan(stages, delta=True).setup(work, H200, 1 << 36).spaces
        assert spaces["log_gain"][0] == 4 * 64 * units
    assert general.plan(DIGITS).setup(work, H200, 1 << 36).spaces["log_gain"][0] == 0


def test_as_many_warps_as_memory_has_room_for():
    plan, work = general.plan(DIGITS), Work(DIGITS, "train", largest=10_000, longest=4096)
    wide = plan.setup(work, H200, 1 << 36).starts[0].grid
    assert wide == (132 * 5, 1)
    narrow = plan.setup(work, H200, 1 << 28)
    assert narrow.starts[0].grid[0] < wide[0]
    assert 4 * sum(size for size, _ in narrow.spaces.values()) <= 1 << 27
    with pytest.raises(MissingEngineError, match="GB are free"):
        plan.setup(work, H200, 1 << 18)
