"""What an export takes: RAM, flash, and work per event; computed from the network, not measured."""

from __future__ import annotations

from timesurf.export.model import SIZES, Model

# Instructions per decay, per multiply-add and per unit, rounded from what examples/microcontroller/run.py counts with
# gcc 12 -O2 for a Cortex-M4 (docs/howto/microcontroller.md).
RATES = {"float32": (30, 4.1, 9), "int16": (43, 4.4, 12), "int8": (42, 3.6, 9)}
OVERHEAD = 120
PER_LOGARITHM = 70  # likewise; a class of evidence takes one


def ram(model: Model) -> int:
    """Bytes of the struct."""
    fields = [(SIZES[kind], max(size, 1)) for kind, _, size, _ in model.fields()]
    widest = max(size for size, _ in fields)
    total = sum(size * count for size, count in fields)  # the largest types come first: padding is at the end alone
    return -(-total // widest) * widest


def stack(model: Model) -> int:
    """Bytes of the largest frame, with room for what is called from it."""
    written = [plan.entries for plan in model.plans if not plan.running and model.learning is None]
    shares = 4 * len(model.classes) if model.temperature else 0
    return 256 + shares + 10 * max(written, default=0)


def constants(model: Model) -> int:
    """Bytes of constant tables, with pointers of 32 bits."""
    names = sum(len(name.encode()) + 5 for name in model.classes)
    runs = sum(4 * len(plan.runs) for plan in model.plans if len(plan.runs) > 1)
    tables: int = sum(table.nbytes for table in model.numbers.tables(model))
    return names + runs + tables + sum(weights.bytes for weights in model.weights)


def per_event(model: Model) -> list[str]:
    """Work of each layer at most, in words."""
    lines = []
    for plan in model.plans:
        decays, adds = (2, 2 * plan.units) if plan.running else (plan.entries, plan.entries * plan.units)
        lines.append(f"layer {plan.number}: {decays:,} decays and {adds:,} multiply-adds")
    if model.temperature:
        lines.append(
            f"evidence of an output event: {model.plans[-1].units:,} decays, {len(model.classes):,} logarithms"
        )
    if model.learning:
        moved = sum(plan.entries for plan in model.plans)
        lines.append(f"learning from an event that passes all layers: {moved:,} multiply-adds more")
    most = instructions(model)
    if most:
        lines.append(f"about {most:,} instructions in all on a Cortex-M4: estimated, not measured")
    return lines


def instructions(model: Model) -> int:
    """About how many instructions an event takes on a Cortex-M4 at most; 0 where no rate was counted."""
    if model.learning or model.numbers.name not in RATES:
        return 0
    per_decay, per_add, per_unit = RATES[model.numbers.name]
    total = float(OVERHEAD)
    for plan in model.plans:
        total += plan.units * per_unit
        total += 150 if plan.running else plan.entries * per_decay + plan.entries * plan.units * per_add
    if model.temperature:
        total += model.plans[-1].units * per_decay + len(model.classes) * PER_LOGARITHM
    return int(round(total, -2))


def setting_back(model: Model) -> str:
    """What happens before the clock wraps."""
    adds = sum(plan.blocks * plan.entries * plan.units for plan in model.plans if plan.running)
    more = f" and takes up to {adds:,} multiply-adds" if adds else ""
    return f"Once in 2^31 us (35 minutes) without a reset the clock is set back, which goes through all times{more}."
