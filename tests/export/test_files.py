"""The files of an export: strict C, the same bytes every time, class names as they are, and what cannot be written."""

import json
import shlex
import subprocess
import sys

import numpy as np
import pytest

from tests.export.cases import STRICT
from timesurf import Full, Network, Tile, Window, cli, export
from timesurf.cli import exporting
from timesurf.datasets import sentences
from timesurf.engines import Parameters
from timesurf.errors import SettingError
from timesurf.events import Recordings
from timesurf.export import check, cost, ctext
from timesurf.export.compiled import build
from timesurf.io import npz
from timesurf.rule import Rule


@pytest.fixture(scope="module")
def network():
    train = sentences.make(20, seed=0)
    layers = [Tile((5, 5), units=3, tau="2 ms"), Tile((3, 1), units=6, tau=1), Full(tau=1)]
    return Network(layers, train.field, 1, train.classes).fit(train, passes=1)


@pytest.mark.parametrize("numbers", ["float32", "int16", "int8", "learn"])
def test_strict_compilers_have_nothing_to_say(network, numbers, cc, tmp_path):
    learn = numbers == "learn"
    model = export.prepared(network, "net", numbers="float32" if learn else numbers, learn=learn)
    export.write(model, tmp_path)
    program = build(model, tmp_path, (*STRICT, "-O2", "-pedantic"), cc=cc)
    table = np.array([[1] + [0] * 6], np.int32)
    assert program.run(table).ram == cost.ram(model)


EVERY = [(n, False) for n in ("float32", "int16", "int8")] + [("float32", True), ("float64", True)]  # numbers, learns
every = pytest.mark.parametrize(("numbers", "learn"), EVERY, ids=[n + " learns" * learn for n, learn in EVERY])
either = pytest.mark.parametrize("decides", ["votes", "evidence"])


def object_file(network, decides, cc, folder, **preparing):
    """The model of a network that decides in that way, and what its source is compiled to."""
    twin = network.twin(network.snapshot())
    twin.decides = decides
    model = export.prepared(twin, "net", **preparing)
    export.write(model, folder)
    made = folder / "net.o"
    options = ("-std=c99", "-O1", "-fno-pic", "-fno-builtin")  # a short table would become instructions that store it
    subprocess.run([cc, *options, "-c", folder / "net.c", "-o", made], check=True)
    return model, made


@every
@either
def test_nothing_is_allocated_and_no_libm_is_called(network, numbers, learn, decides, any_cc, tmp_path):
    _, made = object_file(network, decides, any_cc, tmp_path, numbers=numbers, learn=learn)
    symbols = subprocess.run(["nm", made], check=True, capture_output=True, text=True).stdout.split("\n")
    wanted = {line.split()[-1] for line in symbols if " U " in line}
    assert wanted <= {"memcpy", "memset", "__stack_chk_fail", "_GLOBAL_OFFSET_TABLE_"}
    assert not [line for line in symbols if line.split()[1:2] and line.split()[1] in "bBdDC"]  # no global state


@every
@either
def test_the_constants_are_those_of_the_compiled_object(network, numbers, learn, decides, any_cc, tmp_path):
    """Slack: 96 bytes for alignment. Literals are apart; a pointer to a class's name has 8 bytes here, 4 there."""
    some = network.twin(network.snapshot())
    some.parameters[0].frozen[0] = True  # which C that learns has a table of
    model, made = object_file(some, decides, any_cc, tmp_path, numbers=numbers, learn=learn)
    sections = subprocess.run(["size", "-A", made], check=True, capture_output=True, text=True).stdout.splitlines()
    sizes = {line.split()[0]: int(line.split()[1]) for line in sections if line.startswith(".rodata")}
    found = sum(size for name, size in sizes.items() if not name.startswith(".rodata.cst"))
    assert 0 <= found - 4 * len(model.classes) - cost.constants(model) <= 96


def test_the_same_model_gives_the_same_bytes(network, tmp_path):
    for folder in ("a", "b"):
        export.write(export.prepared(network, "net", numbers="int8"), tmp_path / folder)
    for name in ("net.h", "net.c"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["net.c", "net.h"]


def test_class_names_reach_c_as_they_are(network, any_cc, tmp_path):
    names = ['say "hi"\\n', "a */ b ??/ %s"]
    other = Network(network.layers, network.field, 1, names)
    other.parameters = network.snapshot()
    model = export.prepared(other, "net")
    export.write(model, tmp_path)
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include "net.h"\n'
        "int main(void) { puts(net_class_names[0]); puts(net_class_names[1]); }\n",
        "utf-8",
    )
    program = tmp_path / "main"
    command = [any_cc, "-std=c99", "-trigraphs", "-w", "-o", program, tmp_path / "main.c", tmp_path / "net.c"]
    subprocess.run(command, check=True)
    said = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    assert said.splitlines() == [other.classes[0], other.classes[1]]


def test_names_that_c_does_not_accept_are_refused(network):
    with pytest.raises(SettingError, match="'my_net'"):
        export.prepared(network, "my net")
    assert ctext.identifier("9 läufe.v2") == "net_9_l_ufe_v2"


@pytest.mark.parametrize("taken", ["size", "uint_fast16", "string", "time"])
def test_a_model_may_have_the_name_of_a_type_or_header_of_c(taken, network, any_cc, tmp_path):
    """size_t is a type already, and string.h would be found in place of the library's."""
    with pytest.raises(SettingError, match=f"'net_{taken}'"):
        export.prepared(network, taken)
    model = export.prepared(network, ctext.identifier(taken))
    export.write(model, tmp_path)
    build(model, tmp_path, (*STRICT, f"-I{tmp_path}"), cc=any_cc)


def test_what_c_cannot_do_is_refused_with_the_reason(network):
    with pytest.raises(SettingError, match="float32, int16, int8"):
        export.prepared(network, "net", numbers="float16")
    with pytest.raises(SettingError, match="float64 is for learning"):
        export.prepared(network, "net", numbers="float64")
    events = sentences.make(3, seed=0)
    slow = Network([Full(tau="3 min")], events.field, 1, events.classes).start(events)
    with pytest.raises(SettingError, match="32 bits"):
        export.prepared(slow, "net")
    wide = Network([Window(65, units=2, tau=1.0), Full(tau=1.0)], events.field, 1, events.classes).start(events)
    wide_names = [str(stage) for stage in wide.stages]
    with pytest.raises(SettingError, match="4,225 entries"):
        export.prepared(wide, "net")
    assert "65 x 65" in wide_names[0]
    vast = Network([Window(3, units=2, tau=1.0, stride=999), Full(tau=1.0)], (40_000, 40_000), 1, ["a", "b"])
    vast.parameters = Parameters.of(
        [np.zeros((stage.units, *stage.surface_shape)) for stage in vast.stages],
        [np.full(stage.units, np.inf) for stage in vast.stages],
    )
    with pytest.raises(SettingError, match="1,600,000,000 inputs"):
        export.prepared(vast, "net")
    large = network.twin(network.snapshot())
    large.parameters[0].centroids[0, 0, 0] = 1000.0
    with pytest.raises(SettingError, match="use float32"):
        export.prepared(large, "net", numbers="int8")


def test_calibration_makes_scales_finer_where_events_are(network):
    """An entry that never fires may be cut off, so that those that do are finer."""
    events = sentences.make(5, seed=3)
    odd = network.twin(network.snapshot())
    unused = odd.parameters[2].centroids.shape
    fired = np.zeros(unused[1:], bool)
    emitted = odd.transform(events, 1)
    fired[(*emitted.coords, emitted.p)] = True
    assert not fired.all()
    odd.parameters[2].centroids[0][~fired] = 9.0
    plain = export.prepared(odd, "net", numbers="int8")
    fitted = export.prepared(odd, "net", numbers="int8", calibration=events)
    assert fitted.weights[2].scale > 2 * plain.weights[2].scale


def test_compare_finds_agreement_and_a_wrong_export(network, any_cc):
    events = sentences.make(6, seed=4)
    result = check.compare(export.prepared(network, "net"), network, events)
    assert result["decisions"] == 1
    assert result["passed"] > 0.999
    assert min(result["winners"]) > 0.999
    assert result["recording_accuracy"] == result["network_recording_accuracy"]
    figures = network.evaluate(events)
    for name in check.FIGURES:
        assert result[f"network_{name}"] == figures[name]
        assert result[name] == pytest.approx(figures[name], abs=2e-3)
    other = network.twin(network.snapshot())
    other.parameters[0].thresholds[:] *= 0.5
    assert check.compare(export.prepared(other, "net"), network, events)["passed"] < 0.9


def test_accuracies_are_by_evidence_where_that_decides(any_cc):
    """Two events for a by a little, one for b by far: votes say a, evidence says b."""
    network = Network([Full(tau=1.0)], (2,), 1, ["a", "b"], rule=Rule(last="delta", temperature=5.0))
    network.parameters = Parameters.of([np.array([[0.55, 0.0], [0.5, 0.3]])[:, :, None]], [np.full(2, np.inf)])
    events = Recordings([[0, 0, 1]], [0, 1000, 2000], offsets=[0, 3], field=(2,), labels=["b"])
    for numbers in export.NUMBERS:
        result = check.compare(export.prepared(network, "net", numbers=numbers), network, events)
        assert result["decides"] == "evidence"
        assert result["recording_accuracy"] == result["network_recording_accuracy"] == 1
        assert result["event_accuracy"] == pytest.approx(1 / 3)
    network.decides = "votes"
    assert check.compare(export.prepared(network, "net"), network, events)["recording_accuracy"] == 0


def test_the_command_writes_checks_and_reports(network, any_cc, tmp_path, monkeypatch, capsys):
    network.save(tmp_path / "my sentences.tsf")
    npz.write(tmp_path / "test.npz", sentences.make(4, seed=5))
    words = ["export", tmp_path / "my sentences.tsf", "--out", tmp_path / "c", "--numbers", "int8", "--check"]
    words += [tmp_path / "test.npz", "--calibrate", tmp_path / "test.npz", "--json", tmp_path / "f.json"]
    monkeypatch.setattr(sys, "argv", ["timesurf", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 0
    said = capsys.readouterr().out
    assert "same decisions" in said
    assert (tmp_path / "c" / "my_sentences.h").read_text("utf-8").startswith("/* my_sentences: a network")
    figures = json.loads((tmp_path / "f.json").read_text("utf-8"))
    assert figures["recordings"] == 4
    assert figures["ram"] < 16 << 10


def test_the_next_command_keeps_the_options_and_quotes_paths(network, tmp_path, monkeypatch, capsys):
    """As said, it checks what was written: without --numbers it would replace it by another export."""
    network.save(tmp_path / "my sentences.tsf")
    words = ["export", tmp_path / "my sentences.tsf", "--out", tmp_path / "c", "--numbers", "int8"]
    monkeypatch.setattr(sys, "argv", ["timesurf", *map(str, words)])
    with pytest.raises(SystemExit):
        cli.main()
    said = next(line for line in capsys.readouterr().out.splitlines() if "--check DATA" in line)
    assert shlex.split(said.partition(": ")[2])[:7] == ["timesurf", *map(str, words)]


def test_figures_without_a_comparison_and_a_folder_that_cannot_be_made_are_refused(network, tmp_path):
    network.save(tmp_path / "m.tsf")
    with pytest.raises(SettingError, match="--check"):
        exporting.export(tmp_path / "m.tsf", tmp_path, json_file=tmp_path / "f.json")
    with pytest.raises(OSError, match="Cannot make the folder"):
        export.write(export.prepared(network, "net"), tmp_path / "m.tsf" / "c")


def test_the_header_names_what_has_to_be_done_with_events_first(network):
    from timesurf.export.source import texts
    from timesurf.transforms.preparation import Preparation

    assert "prepared" not in texts(export.prepared(network, "net")).header
    other = network.twin(network.snapshot())
    other.preparation = Preparation(denoise="2 ms")
    assert str(other.preparation) in " ".join(texts(export.prepared(other, "net")).header.split())
