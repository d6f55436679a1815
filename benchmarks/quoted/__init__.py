"""The figures of README and docs beside the words or the row of a table in which they stand.

A function for each page yields fragments of it; a fragment's words must be on the page, and its figures are written
there by figures.py. Where words of a page change, change them here too. Figures of a fragment that no result has are
plain text: they are held to what is typed here.
"""

from benchmarks.quoted import (
    commands,
    continual,
    data,
    determinism,
    gpu,
    limits,
    live,
    methods,
    readme,
    reliability,
    scale,
    search,
    settings,
    simulation,
    speed,
    spiking,
    table1,
    table3,
)

PAGES = {
    "README.md": readme.readme,
    "docs/data.md": data.data,
    "docs/continual.md": continual.continual,
    "docs/table1.md": table1.table1,
    "docs/table3.md": table3.table3,
    "docs/spiking.md": spiking.spiking,
    "docs/scale.md": scale.scale,
    "docs/howto/search.md": search.search,
    "docs/gpu.md": gpu.gpu,
    "docs/simulation.md": simulation.simulation,
    "docs/howto/live.md": live.live,
    "docs/limits.md": limits.limits,
    "docs/reliability.md": reliability.reliability,
    "docs/commands.md": commands.commands,
    "docs/speed.md": speed.speed,
    "docs/stream.md": live.stream,
    "docs/rule.md": methods.rule,
    "docs/family.md": methods.family_page,
    "docs/robustness.md": methods.robustness_page,
    "docs/settings.md": settings.settings_page,
    "docs/determinism.md": determinism.determinism,
    "docs/howto/few.md": methods.few,
    "docs/howto/together.md": gpu.together,
    "docs/howto/sparsity.md": settings.sparsity,
    "docs/howto/moving.md": settings.moving,
    "docs/howto/extend.md": continual.extend,
    "docs/howto/tune.md": settings.tune,
}
