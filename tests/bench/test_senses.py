from timesurf.bench import senses
from timesurf.datasets import sentences


def test_a_row_compares_the_default_with_counts_and_missing_files_are_passed_over(monkeypatch, tmp_path):
    few = {"sentences": lambda folder, seed: senses.Split(sentences.make(40, seed=seed), sentences.make(10, seed=9))}
    monkeypatch.setattr(senses, "SENSES", few | {"braille touch": senses.SENSES["braille touch"]})
    said = []
    result = senses.run(tmp_path, 1, report=said.append)
    (row,) = result["senses"]
    assert row["recordings"] == [40, 10]
    assert all(0 <= row[name][0] <= 1 for name in ("default", "kept", "counts_1", "counts_8"))
    assert any("braille_touch_1348.npz is not in" in text for text in said)
