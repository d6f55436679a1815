"""What the pages' fragments have in common: rows of tables, bold type, means with their worst."""

from benchmarks.number import Number, mean, read


def row(*cells):
    """A row of a table."""
    return f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |")


def bold(text):
    """In bold type."""
    return f"**{text}**"


def two(values, form=".2%", best=False):
    """The mean, and the worst in brackets."""
    first = f"{mean(values):{form}}"
    return f"{bold(first) if best else first} ({min(values):{form}})"


def percent(result, form=".2%", best=False):
    """Recording accuracy with its interval."""
    first, (low, high) = f"{result.recording_accuracy:{form}}", result.interval
    return f"{bold(first) if best else first} ({low:.1p} to {high:.1%})"


def with_error(found, form=".1p"):
    """A share or a difference with its standard error."""
    value, error = map(Number, found)
    return f"{value:{form}} ± {error:.1p}"


def sense(data):
    """A row of senses.json."""
    return next(of for of in read("senses").senses if of.data == data)


def last(networks):
    """The accuracy of each network after the last step."""
    return [steps[-1] for steps in networks.steps]
