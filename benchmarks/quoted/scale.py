"""More than one machine."""

from dataclasses import replace

from benchmarks.number import Number, read
from benchmarks.quoted.words import bold, row

from timesurf.bench import scaling


def scale():
    found = read("workers")
    fit = found.simulated
    sums = {size.recordings: size.bytes for size in found.touched}
    yield f"events per recording | 512, {found.events_per_recording} |"
    yield f"| v | events per second of a worker of one thread | {fit.events_per_s:.1M} |"
    yield f"per batch and per task | {fit.batch:m} ms, {fit.task:m} ms |"
    yield (
        f"s(n) | bytes of the sums of n recordings: {sums[1]:k} kB for one, {Number(sums[64] / 1e6):.2} MB for 64, "
        f"{Number(sums[1024] / 1e6):.2} MB for 1,024; {Number(found.touched[0].of / 1e6):.1} MB if none of them is 0"
    )
    yield f"| u | bytes per second to a worker and back | {Number(found.bytes_per_s / 1e9):.2} GB |"
    seconds = {(of.batch, of.workers): of for of in found.rows}
    model = {(of.batch, of.workers): of.simulated for of in fit.batches}
    for batch in (128, 512):
        rows = []
        for workers in (0, 1, 2, 4):
            of, alone = seconds[batch, workers], seconds[batch, 1]
            faster = "1" if workers == 1 else f"{Number(alone.seconds / of.seconds):.2} x"
            cells = [bold(faster) if (batch, workers) == (512, 2) else faster, "", ""]
            if workers:
                moved = f"{Number(of.sent / 1e6):.1}, {Number(of.received / 1e6):.1} MB"
                cells[1:] = [f"{model[batch, workers]:m} ms", moved]
            rows.append(row("" if workers else f"{batch}", f"{workers}", f"{of.seconds:m}", *cells))
        yield "\n".join(rows)
    yield f"The formula is within {max(Number(abs(of.off)) for of in fit.batches):%} of every measured batch"
    works, cost = scaling.works(found), scaling.clusters(found)
    labels = [
        f"N-MNIST: 60,000 recordings of {found.events_per_recording} events | 512",
        "DVS-Gesture: 1,176 of 360,000 events, 128 x 128 pixels | 32",
        "10^12 events per day | 512",
        "N-MNIST, sums in a tree | 512",
    ]
    of_rows = [(work, cost["as measured"]) for work in works] + [(works[0], cost["sums in a tree"])]
    for label, (work, on) in zip(labels, of_rows, strict=True):
        passes = [f"{Number(scaling.epoch(on, work, n))}" for n in (1, 2, 4, 8, 16)]
        yield row(label, *passes, f"{Number(scaling.balance(on, work))} workers")
    parts = {name: Number(part) for name, part in scaling.seconds(cost["as measured"], works[0], 8).items()}
    yield (
        f"digits computes for {parts['computing']:m} ms, waits {parts['waiting']:m} ms for tasks and sends for "
        f"{parts['travelling']:m} ms"
    )
    day = [Number(scaling.epoch(cost["as measured"], works[2], workers) / 3600) for workers in (4, 8)]
    yield f"Four workers learn one day's events in {day[0]} hours, eight in {day[1]};"
    rate = next(of for of in read("gpu").rows if of.what == "training, batches of 512").card_events_per_s
    yield f"[{Number(rate / 1e9):.1} billion events per second](gpu.md#speed)"
    large = scaling.balance(cost["as measured"], replace(works[0], batch=2048))
    yield f"With batches of 2,048 the limit would be {Number(large)} workers instead of"
    yield f"The sums of DVS-Gesture's last layer are {Number(works[1].sums[0] / 1e6)} MB"
    parts = {name: Number(part) for name, part in scaling.seconds(cost["as measured"], works[1], 8).items()}
    yield f"compute a batch in {parts['computing']:.2} s and exchange it in {parts['travelling']:.2} s"
