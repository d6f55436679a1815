"""Structs that the host and the kernels share: one description, two declarations."""

import re
import shutil
import subprocess

import pytest

from tests.engines.cuda.networks import SENTENCES
from timesurf.engines.cuda import abi
from timesurf.engines.cuda.general import plan
from timesurf.engines.data import KEPT_WEIGHT
from timesurf.rule import SLACK

nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc, CUDA's compiler, is not here")


def compiled(text, folder):
    (folder / "abi.cu").write_text(text, "utf-8")
    words = ["nvcc", "-cubin", "-arch=sm_80", "-std=c++17", "-o", "abi.cubin", "abi.cu"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)


def test_members_lie_where_c_puts_them():
    of = abi.args(3)
    assert of.fields["networks"][1] == 80  # behind ten pointers
    assert of.fields["kept"][1] == 88
    assert of.fields["scratch"][1] == of.fields["keep"][1] + 8  # a pointer begins at a multiple of 8
    assert of.itemsize == of.fields["layer"][1] + 3 * abi.LAYER.dtype().itemsize
    assert abi.RATES.dtype().itemsize == 36


def test_every_member_is_declared_and_checked():
    text = plan(SENTENCES).head
    for struct in (abi.RATES, abi.LAYER, abi.ARGS):
        for member in struct.members:
            assert f"{member.ctype} {member.name}" in text
            assert f"sizeof({struct.name}::{member.name})" in text
            assert f"__builtin_offsetof({struct.name}, {member.name})" in text


def test_constants_of_the_rule_are_the_rules_own():
    text = plan(SENTENCES).head
    assert float(re.search(r"SLACK = ([\d.e-]+)f", text)[1]) == SLACK
    assert float(re.search(r"KEPT_WEIGHT = ([\d.e-]+)f", text)[1]) == KEPT_WEIGHT


def test_sizes_of_a_layer_are_written_by_name():
    values = {member.name: n for n, member in enumerate(abi.SHAPE.members) if not member.count}
    values |= {member.name: (7,) for member in abi.SHAPE.members if member.count}
    numbers = [part for part in re.split(r"[{}, ]+", abi.SHAPE.value(values, MAX_DIMENSIONS=2)) if part]
    assert numbers[:16] == [str(n) for n in range(16)]
    assert numbers[16:18] == ["7", "1"]
    with pytest.raises(KeyError):
        abi.SHAPE.value({}, MAX_DIMENSIONS=2)


@nvcc
def test_declarations_compile_and_agree(tmp_path):
    done = compiled(plan(SENTENCES).head, tmp_path)
    assert done.returncode == 0, done.stderr


@nvcc
@pytest.mark.parametrize(
    ("ours", "theirs"), [("float keep;", "double keep;"), ("int* scratch;", "int scratch;"), ("int flags;", "")]
)
def test_a_struct_that_differs_does_not_compile(ours, theirs, tmp_path):
    text = plan(SENTENCES).head
    assert ours in text
    done = compiled(text.replace(ours, theirs, 1), tmp_path)
    assert done.returncode != 0
    assert "layout of" in done.stderr or "size of" in done.stderr or "flags" in done.stderr
