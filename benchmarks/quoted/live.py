"""Streams and the live page."""

from benchmarks.number import Number, mean, read


def live():
    found = read("live_page")
    of = found.turns
    yield f"all of {Number(found.rate / 1e6)} M events per second"
    yield (
        f"The open page cost {Number(found.cpu_ratio - 1):%} more processor time per event; a real Chromium showed "
        f"{min(turn.page.frames_per_s for turn in of)} frames per second, and memory grew by "
        f"{max(turn.page.growth_kb for turn in of)} kB in {found.seconds} s"
    )


def stream():
    of = read("latency")
    ratios = [
        file.busy_seconds.stream_to_predict
        for found in read("stream_commands").data.values()
        for file in found.files.values()
    ]
    yield f"whole commands handle {Number(min(ratios)):.2} to {Number(max(ratios)):.2} times as many"
    parts = [Number(of.empty_us / of.packets[events].p50) for events in ("100", "1000")]
    yield (
        f"An empty packet takes {of.empty_us:.1} us, for Python and the checks: {parts[0]:%} of a packet of 100 "
        f"events, {parts[1]:%} of one of 1,000"
    )
    lost = [run.old_before - run.old_after for run in read("teaching_alone").runs]
    yield (
        f"cost the other digits {mean(lost):.1p} points of recording accuracy ({Number(min(lost)):p} to "
        f"{Number(max(lost)):p} in ten networks)"
    )
