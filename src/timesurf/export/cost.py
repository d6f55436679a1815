"""What an export takes: RAM, flash, and work per event; computed from the network, not measured."""

from __future__ import annotations

from timesurf.export.model import SIZES, Model


def ram(model: Model) -> int:
    """Bytes of the struct."""
    fields = [(SIZES[kind], max(size, 1)) for kind, _, size, _ in model.fields()]
    widest = max(size for size, _ in fields)
    total = sum(size * count for size, count in fields)  # the largest types come first: padding is at the end alone
    return -(-total // widest) * widest


def stack(model: Model) -> int:
    """Bytes of the largest frame, with room for what is called from it."""
    return 256 + max((6 * plan.entries for plan in model.plans if not plan.running), default=0)


def constants(model: Model) -> int:
    """Bytes of constant tables."""
    names = sum(len(name.encode()) + 5 for name in model.classes)
    runs = sum(4 * len(plan.runs) for plan in model.plans if not plan.running)
    return names + runs + sum(weights.bytes for weights in model.weights)


def code(model: Model) -> int:
    """About how many kB of instructions."""
    return 1 + len(model.plans)


def per_event(model: Model) -> list[str]:
    """Work of each layer, in words."""
    lines = []
    for plan in model.plans:
        if plan.running:
            work = f"2 decays and {2 * plan.units:,} multiply-adds"
        else:
            work = f"{plan.entries:,} decays and {plan.entries * plan.units:,} multiply-adds"
        lines.append(f"           layer {plan.number}: {work}")
    return lines


def setting_back(model: Model) -> str:
    """What happens before the clock wraps."""
    adds = sum(plan.blocks * plan.entries * plan.units for plan in model.plans if plan.running)
    more = f", with up to {adds:,} multiply-adds" if adds else ""
    return (
        "Once in 2^31 us (35 minutes) without a\n"
        f"           reset the clock is set back, which goes through all of the RAM{more}."
    )
