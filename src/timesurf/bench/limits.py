"""The ratios that `timesurf bench speed --check` asks for.

Ratios of two measurements in one run are checked, not events per second, so that the limits hold on any machine. They
leave room for a noisy one; `benchmarks/results/speed.json` has what was measured.
"""

from __future__ import annotations

from typing import Any

# network, job, figure, smallest value
AT_LEAST = (
    ("nmnist", "infer", "times_plain", 50.0),
    ("nmnist", "batch", "times_plain", 50.0),
    ("sentences", "online", "times_plain", 3.0),
    ("nmnist", "infer", "share_of_peak", 0.1),
    ("nmnist", "online32", "times_infer", 0.5),
    ("deeper", "online32", "times_infer", 0.3),
)
LARGEST_FIELD = 3.0  # times the cost per event on the smallest field, 55 times smaller


def missed(result: dict[str, Any]) -> list[str]:
    """Compare what `bench.speed.run` measured with the limits.

    Parameters
    ----------
    result : dict
        What `timesurf.bench.speed.run` returns.

    Returns
    -------
    list of str
        One sentence per limit that is missed; empty if all are met.

    Examples
    --------
    >>> row = {"times_plain": 60.0, "share_of_peak": 0.3, "times_infer": 0.5}
    >>> field = [{"field": 784, "infer_ns": 40.0}, {"field": 43200, "infer_ns": 200.0}]
    >>> learning = {"online": row, "online32": row}
    >>> networks = {"nmnist": {"infer": row, "batch": row, **learning}, "deeper": learning, "sentences": learning}
    >>> missed({"networks": networks, "growth": {"field": field}})
    ['field: an event on 43,200 pixels costs 5.0 times as much as on 784, at most 3 is asked for.']

    """
    found = []
    for network, job, figure, least in AT_LEAST:
        value = result["networks"][network][job][figure]
        if value < least:
            name = figure.replace("_", " ")
            found.append(f"{network}, {job}: {name} is {value:.3g}, at least {least:g} is asked for.")
    first, *_, last = result["growth"]["field"]
    ratio = last["infer_ns"] / first["infer_ns"]
    if ratio > LARGEST_FIELD:
        found.append(
            f"field: an event on {last['field']:,} pixels costs {ratio:.1f} times as much as on {first['field']:,}, "
            f"at most {LARGEST_FIELD:g} is asked for."
        )
    return found
