"""The table of confusions that `timesurf evaluate` prints."""

import numpy as np
from rich.console import Console

from timesurf.cli.using import _MATRIX, _SHOWN, _confusion


def printed(names, counts):
    console = Console(width=200)
    with console.capture() as captured:
        console.print(_confusion(names, np.array(counts)))
    return captured.get().splitlines()


def test_few_classes_are_a_matrix_with_a_column_for_silent_recordings():
    lines = printed(["a", "b"], [[0, 0, 7], [0, -1, 2], [1, 0, 3]])
    cells = [line.replace("│", " ").replace("┃", " ").split() for line in lines]
    assert ["a", "b", "silent"] in cells
    assert ["a", "7", ".", "2"] in cells
    assert ["b", "3", ".", "."] in cells


def test_many_classes_are_a_list_of_the_most_frequent_mistakes():
    names = [f"class{n}" for n in range(max(_MATRIX + 1, 31))]
    counts = [[n, n, 100] for n in range(20)] + [[n, n + 1, n + 1] for n in range(20)] + [[30, -1, 99]]
    lines = [line.replace("│", " ").split() for line in printed(names, counts)]
    rows = [line for line in lines if line and line[0].startswith("class")]
    assert len(rows) == _SHOWN
    assert rows[0] == ["class30", "silent", "99"]
    assert rows[1] == ["class19", "class20", "20"]
    assert not any("100" in row for row in rows)
