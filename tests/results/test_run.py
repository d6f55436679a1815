"""The folder of a run: what is written is read again, what is damaged is refused."""

import json
import tomllib

import pytest

from timesurf.datasets import sentences
from timesurf.errors import ModelFileError
from timesurf.presets import SENTENCES
from timesurf.results.run import Run, read, toml, write

DATA = sentences.make(4, seed=0, duration="200 us")


@pytest.fixture
def network():
    return SENTENCES.network(DATA, sentences.TASK1, 0).start(DATA)


def test_a_run_is_read_as_it_was_written(tmp_path, network):
    about = {"config": {"passes": 2, "units": None}, "history": [{"kept": 0.5}]}
    write(tmp_path / "new" / "run", Run(about, network, DATA))
    again = read(tmp_path / "new" / "run")
    assert again.about == about
    assert again.network.parameters.same(network.parameters)
    assert again.held_out.fingerprint() == DATA.fingerprint()
    assert (tmp_path / "new" / "run" / "config.toml").read_text("utf-8") == "passes = 2\n"


def test_a_run_without_recordings_replaces_one_that_had_some(tmp_path, network):
    write(str(tmp_path), Run({}, network, DATA))
    write(tmp_path, Run({}, network, None))
    assert read(str(tmp_path)).held_out is None
    assert not (tmp_path / "held_out.npz").exists()


@pytest.mark.parametrize("text", ["{", "[1]", "3", "[" * 100_000])
def test_a_damaged_description_is_refused(tmp_path, network, text):
    write(tmp_path, Run({}, network, None))
    (tmp_path / "run.json").write_text(text, "utf-8")
    with pytest.raises(ModelFileError, match=r"run\.json is damaged.*Train again"):
        read(tmp_path)


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(ModelFileError, match="timesurf train"):
        read(tmp_path)


def test_settings_that_are_not_given_are_left_out_of_the_configuration():
    assert toml({"a": None, "b": 0, "c": False, "d": ""}) == 'b = 0\nc = false\nd = ""'


def test_names_in_any_script_are_read_back_from_the_configuration():
    """JSON would write those outside of 16 bits as two numbers, which TOML refuses."""
    named = {"classes": ["Straße", "日本", "\U0001f600"], "file": 'a "b" \x7f\n'}
    assert tomllib.loads(toml(named)) == named


def test_the_description_is_json_for_people(tmp_path, network):
    write(tmp_path, Run({"seed": 1}, network, None))
    text = (tmp_path / "run.json").read_text("utf-8")
    assert text.count("\n") > 2
    assert json.loads(text) == {"seed": 1}
