"""The header and the source of a network, filled in from the templates."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from timesurf import __version__
from timesurf.export import cost
from timesurf.export.ctext import comment, filled, string
from timesurf.export.model import Model

_DECIDED = {"votes": "most votes", "evidence": "most evidence"}  # how a decision is described


@dataclass(frozen=True, slots=True)
class Texts:
    """The two files of an export."""

    header: str
    source: str


def texts(model: Model) -> Texts:
    """Header and source; the same model gives the same bytes."""
    return Texts(_header(model), _source(model))


def _source(model: Model) -> str:
    layers = (model.numbers.layer(model, *layer) for layer in zip(model.plans, model.weights, strict=True))
    rule = [model.learning.rule_text(model)] if model.learning else []
    evidence = [model.numbers.evidence(model)] if model.temperature else []
    writes = not model.learning and not all(plan.running for plan in model.plans)
    together = [filled("together.c")] if writes else []
    parts = [*together, *model.numbers.helpers(model), *layers, *evidence, *rule, _clock(model), _api(model)]
    return filled(
        "source.c", title=title(model), version=__version__, name=model.name,
        parts="\n".join(part.rstrip("\n") + "\n" for part in parts).rstrip("\n"),
    )  # fmt: skip


def title(model: Model) -> str:
    """What the files contain, in a line."""
    classes = comment(", ".join(model.classes))
    return f"{model.name}: a network of time surfaces for {len(model.classes)} classes ({_short(classes)})."


def _short(text: str, width: int = 60) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def _clock(model: Model) -> str:
    lines = [f"set_back(n->{name}, {size}u, by);" for name, size in model.times()]
    lines += [f"again{plan.number}(n);" for plan in model.plans if plan.running]
    return filled("clock.c", name=model.name, start=model.start, set_back=_indented(lines, 8))


def _api(model: Model) -> str:
    names = (*model.coordinates, "p")
    values = {
        "name": model.name, "NAME": model.name.upper(), "signature": signature(model),
        "plain_names": ", ".join([*names, "t"]), "cast_names": ", ".join(f"(uint32_t){x}" for x in names),
    }  # fmt: skip
    return filled(
        "api.c", **values, route=_indented(_route(model), 4), arguments=model.plans[0].arguments,
        last=len(model.plans) - 1, per_class=model.unit_class, decides=model.decides,
        weigh="    weigh(n);\n" if model.temperature else "",
        outside=" || ".join(f"{x} < 0 || {x} >= {n}" for x, n in zip(names, model.sizes, strict=True)),
        push=(model.learning.api(model, values) if model.learning else filled("push.c", **values)).rstrip("\n"),
        reset=_indented(_reset(model), 4), init=_indented([*_first(model), f"{model.name}_reset(n);"], 4),
        class_names="\n".join(f"    {string(name)}," for name in model.classes),
    )  # fmt: skip


def _route(model: Model) -> list[str]:
    """From layer to layer, until one rejects the event."""
    lines = []
    for plan in model.plans:
        k = plan.number
        call = f"layer{k}(n, {', '.join((*plan.coordinates, 'p'))})"
        lines += [f"if (!{call})", f"    return {model.name.upper()}_REJECTED;", f"n->passed = {k};"]
        outputs = zip(plan.coordinates, plan.outputs, strict=False)
        moved = [f"{x} = {value};" for x, value in outputs if x != value]
        remembered = model.learning.remembered(model, plan) if model.learning else []
        last = k == len(model.plans)
        lines += [*(moved if remembered or not last else []), *remembered]
        lines += [] if last else [f"p = n->fired[{k - 1}];"]
    return lines


def _first(model: Model) -> list[str]:
    """What is learned begins as it was exported."""
    lines = []
    for name, _ in model.learning.learned(model) if model.learning else []:
        first = "0" if name.startswith("lost") else f"first_{name}"
        call = "memset" if first == "0" else "memcpy"
        lines.append(f"{call}(n->{name}, {first}, sizeof n->{name});")
    return lines


def _reset(model: Model) -> list[str]:
    lines = [f"memset(n->{field}, 0, sizeof n->{field});" for field in model.memory()]
    scalars = [f"n->clock = {model.start}u;", "n->latest = 0;", "n->started = 0;", "n->passed = 0;"]
    return [*lines, *scalars]


def signature(model: Model) -> str:
    """Parameters of an event."""
    return ", ".join([*(f"int32_t {x}" for x in (*model.coordinates, "p")), "uint32_t t"])


def _header(model: Model) -> str:
    names, name = model.coordinates, model.name
    place = ", ".join(f"{x} (0 to {n - 1})" for x, n in zip(names, model.sizes, strict=False))
    return filled(
        "header.h", title=title(model), version=__version__, name=name, NAME=name.upper(), numbers=model.numbers.name,
        learns=", learns" if model.learning else "",
        about="\n".join(f"     {plan.number}. {plan.stage}" for plan in model.plans),
        preparation=_preparation(model),
        ram=f"{cost.ram(model):,}", stack=f"{cost.stack(model):,}", flash=f"{cost.constants(model):,}",
        cost="\n".join(f"           {line}" for line in cost.per_event(model)), clock_cost=_clock_cost(model),
        arithmetic=model.numbers.needs, decided=_DECIDED[model.decides], plain_names=", ".join([*names, "p", "t"]),
        example_read=", &".join([*names, "p", "t"]), classes=len(model.classes), layers=len(model.plans),
        fields="\n".join(_fields(model)), place=place, most_p=model.sizes[-1] - 1, signature=signature(model),
        **_learning(model),
    )  # fmt: skip


def _preparation(model: Model) -> str:
    """What has to be done with events before they are pushed."""
    if not model.preparation:
        return ""
    text = f"Events must be prepared as for training before they are pushed, by you: {comment(model.preparation)}."
    return textwrap.fill(text, 116, initial_indent="   ", subsequent_indent="   ") + "\n\n"


def _clock_cost(model: Model) -> str:
    """Which events cost less, and which more."""
    less = "" if model.learning else "Entries that have decayed are left out. "
    text = f"{less}An event that a layer rejects costs nothing above it. {cost.setting_back(model)}"
    return "\n".join(textwrap.wrap(text, 100, initial_indent=" " * 11, subsequent_indent=" " * 11))


def _learning(model: Model) -> dict[str, str]:
    """What the header of C that learns has more than others."""
    if model.learning is None:
        return dict.fromkeys(("more", "more_codes", "init_learns", "reset_learns", "learning"), "") | {"more": " "}
    NAME = model.name.upper()
    codes = (
        f"    {NAME}_BAD_LABEL = -4, /* neither a class nor -1: nothing has changed */",
        f"    {NAME}_BAD_SAVE = -5,  /* not what {model.name}_save wrote: nothing has changed */",
        f"    {NAME}_LEARNED_BYTES = {model.learning.learned_bytes(model)}",
    )
    return {
        "more": ",", "more_codes": "\n" + "\n".join(codes), "init_learns": ", and what was exported as what is learned",
        "reset_learns": "; what was learned stays",
        "learning": filled("learning_header.h", name=model.name, NAME=NAME, signature=signature(model)),
    }  # fmt: skip


def _fields(model: Model) -> list[str]:
    """Members of the struct, the largest types first so that nothing is padded."""
    rows = [(f"{kind} {field}{f'[{size}]' if size else ''};", about) for kind, field, size, about in model.fields()]
    width = max(len(row) for row, _ in rows)
    return [f"    {row:<{width}} /* {about} */" for row, about in rows]


def _indented(lines: list[str], by: int) -> str:
    return "\n".join(" " * by + line for line in lines)
