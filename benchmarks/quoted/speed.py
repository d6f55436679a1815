"""Speed on the CPU."""

from benchmarks.number import Number, read
from benchmarks.quoted.words import row


def speed():
    epoch = read("epoch")
    yield f"60,000 recordings, {Number(epoch.events / 1e6)} M events after cropping"
    yield f"batches of 128): {epoch.seconds} s, {epoch.events_per_s:.1M} events/s on two cores"
    yield f"the memory-mapped file of {Number(epoch.events * 6 / 1e9):.1} GB"  # 6 bytes per event
    yield f"The process uses {Number(epoch.private_bytes_before / 1e6)} MB"
    yield f"of its own before and {Number(epoch.private_bytes_most / 1e6)} MB at most"
    yield f"takes 45 to 165 minutes for an epoch of N-MNIST, which takes {epoch.seconds} s here on two cores"
    of = read("peers").per_second
    both, surfaces = of["timesurf: same + class layer over 28 x 28 x 32"], of["timesurf: surfaces + closest unit"]
    online, batch = of["timesurf: learn both layers, online"], of["timesurf: learn both layers, batch"]
    learn = of["timesurf: learn one layer, batch"]
    loop, learning_loop = of["NumPy loop: surfaces + closest unit"], of["NumPy loop: learn one layer, online"]
    closest = of["scikit-learn MiniBatchKMeans: closest unit, surfaces given"]
    learned = of["scikit-learn MiniBatchKMeans: learn one layer, surfaces given"]
    tonic = of["tonic ToTimesurface: surfaces of the whole field, one per millisecond"]
    yield row(
        "timesurf, both layers: inference / batch learning / online learning",
        f"{both:.1M} / {batch:.1M} / {online:.1M} events",
        "",
    )
    yield row("timesurf, first layer: inference / batch learning", f"{surfaces:.1M} / {learn:.1M} events", "")
    yield row(
        "a loop over events in NumPy: inference / learning",
        f"{loop:.2M} / {learning_loop:.2M} events",
        f"{Number(surfaces / loop)} x / {Number(learn / learning_loop)} x faster",
    )
    yield row(
        "scikit-learn's MiniBatchKMeans, surfaces given: inference / learning",
        f"{closest:.1M} / {learned:.1M} surfaces",
        f"{Number(surfaces / closest):.1} x / {Number(learn / learned):.1} x as fast, and computes the surfaces too",
    )
    yield row(
        "tonic's ToTimesurface, whole field, no units", f"{tonic:.3M} surfaces", f"{Number(surfaces / tonic)} x faster"
    )
