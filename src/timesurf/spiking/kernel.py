"""The kernel of integrate-and-fire networks: event by event, in float64, nothing allocated.

Spikes that follow from one event are worked off depth first: `row[k]` to `stop[k]` are the places of layer k that have
yet to hear the present spike of the layer below, and `fired`, `at` are the chain of spikes that led there.
"""

from __future__ import annotations

from math import exp, inf, isinf, sqrt

from timesurf.rule import SLACK
from timesurf.storage.kernels import njit

compiled = njit(cache=True, nogil=True, error_model="numpy", boundscheck=False)
inlined = njit(nogil=True, error_model="numpy", boundscheck=False, forceinline=True)


@inlined
def forget(times, layer, state):
    """Begin a recording: every neuron at rest, as if it had just fired."""
    state.T[:], state.FT[:] = -inf, -inf
    state.v[:], state.since[:], state.S[:] = 0.0, 0.0, 0.0
    for place in range(len(layer)):
        state.quiet[place] = times.refractory[layer[place]]


@inlined
def integrate(k, place, synapse, t, wiring, times, learned, state):
    """Add one spike to the potentials of a place: the neuron that fires, or -1."""
    units, first, unit_at = wiring.units[k], wiring.neuron_at[place], wiring.unit_at[k]
    row = wiring.weight_at[k] + synapse * units
    fade = exp(-(t - state.since[place]) / times.tau[k])
    state.since[place] = t
    fired, furthest = 0, -inf
    for n in range(units):
        v = state.v[first + n] * fade + learned.weights[row + n]
        state.v[first + n] = v
        th = learned.thresholds[unit_at + n]
        beyond = v if isinf(th) else v - th
        if beyond > furthest:
            fired, furthest = n, beyond
    if state.v[first + fired] < learned.thresholds[unit_at + fired] or t < state.quiet[place]:
        return -1
    return fired


@inlined
def fire(k, place, fired, t, wiring, times, learned, state):
    """Remember a spike, and reset the potentials of its place."""
    units, first, unit_at = wiring.units[k], wiring.neuron_at[place], wiring.unit_at[k]
    th = learned.thresholds[unit_at + fired]
    for n in range(units):
        v = state.v[first + n]
        state.potentials[unit_at + n] = v
        state.v[first + n] = (v if isinf(th) else v - th) if times.subtract[k] else 0.0
    state.quiet[place] = t + times.refractory[k]
    state.FT[first + fired] = t
    state.fired[k], state.at[k] = fired, place


@inlined
def judge(G, t, wiring, times, state):
    """S and dS of every spike of a chain."""
    for k in range(len(wiring.units)):
        place, others = state.at[k], 0.0
        for n in range(wiring.units[k]):
            if n != state.fired[k]:
                others += exp(-(t - state.FT[wiring.neuron_at[place] + n]) / times.feedback_tau[k])
        S = G * (1.0 - others / max(wiring.units[k] - 1, 1))
        state.chain_S[k], state.chain_dS[k] = S, S - state.S[place]
        state.S[place] = S


@inlined
def move(k, gain, t, wiring, times, learned, state):
    """Move the weights of the neuron that fired towards the direction of its traces, or away from it."""
    first, synapses, units = wiring.heard_at[state.at[k]], wiring.synapses[k], wiring.units[k]
    square = 0.0
    for s in range(synapses):
        e = wiring.hears[first + s]
        trace = exp(-(t - state.T[e]) / times.trace_tau[k]) if e >= 0 else 0.0
        state.traces[s] = trace - times.inhibition[k]
        square += state.traces[s] ** 2
    length, square, column = sqrt(square), 0.0, wiring.weight_at[k] + state.fired[k]
    for s in range(synapses):
        w = learned.weights[column + s * units]
        w += gain * (state.traces[s] / length - w)
        learned.weights[column + s * units] = w
        square += w * w
    length = sqrt(square)
    for s in range(synapses):
        learned.weights[column + s * units] /= length


@inlined
def shift(k, gain, competes, d, wiring, learned, state):
    """Lower the threshold of the neuron that fired, and raise those of others that its input would have made fire."""
    first = wiring.unit_at[k]
    for n in range(wiring.units[k]):
        th, v = learned.thresholds[first + n], state.potentials[first + n]
        fired = n == state.fired[k]
        if isinf(th) or learned.frozen[first + n] or not (fired or (competes and v >= th)):
            continue
        near = exp(-(v - th) / (d * th))
        learned.thresholds[first + n] = th * exp(-gain * near if fired else gain * near)


@inlined
def learn(t, wiring, times, rates, learned, state):
    """Every layer of a chain learns from S and dS of the layer above it, the last from its own."""
    last = len(wiring.units) - 1
    for k in range(last + 1):
        S, dS = state.chain_S[min(k + 1, last)], state.chain_dS[min(k + 1, last)]
        gain = rates.alpha[k] * dS + rates.beta[k] * S
        if gain != 0.0 and not learned.frozen[wiring.unit_at[k] + state.fired[k]]:
            move(k, gain, t, wiring, times, learned, state)
        if k < last:
            gain = rates.gamma[k] * dS + rates.delta[k] * S
            shift(k, gain, rates.competition and S >= -SLACK and dS >= -SLACK, rates.d[k], wiring, learned, state)


@compiled
def run(
    events,  # IN     (entry, t, offsets, label), as in `engines.data.Batch`
    order,  # IN     (recordings,) which recordings, in this order
    wiring,  # IN     Wiring
    times,  # IN     Times
    rates,  # IN     Rates
    learned,  # INOUT  Learned
    state,  # INOUT  State
    kept,  # OUT    (recordings, layers) spikes of each layer
    votes,  # OUT    (recordings, units) spikes of the last layer
    spikes,  # OUT    (entry, t) of the last layer's spikes in order, or empty: not wanted
):
    """Every event of these recordings through every layer, and what it teaches them."""
    entry, time, offsets, label = events
    last, found = len(wiring.units) - 1, 0
    row, stop = state.row, state.stop
    for r in order:
        forget(times, wiring.layer, state)
        for i in range(offsets[r], offsets[r + 1]):
            t, k = float(time[i]), 0
            state.T[entry[i]] = t
            row[0], stop[0] = wiring.reach[entry[i]], wiring.reach[entry[i] + 1]
            while k >= 0:
                if row[k] == stop[k]:
                    k -= 1
                    continue
                place, synapse = wiring.place[row[k]], wiring.synapse[row[k]]
                row[k] += 1
                fired = integrate(k, place, synapse, t, wiring, times, learned, state)
                if fired < 0:
                    continue
                kept[r, k] += 1
                fire(k, place, fired, t, wiring, times, learned, state)
                above = wiring.emits[place] + fired
                if k < last:
                    k += 1
                    state.T[above] = t
                    row[k], stop[k] = wiring.reach[above], wiring.reach[above + 1]
                    continue
                votes[r, fired] += 1
                if len(spikes[0]) > 0:
                    spikes[0][found], spikes[1][found] = above - len(state.T), time[i]
                    found += 1
                if rates.learn:
                    judge(1.0 if label[r] in (fired, -1) else -1.0, t, wiring, times, state)
                    learn(t, wiring, times, rates, learned, state)


@compiled
def directions(
    events,  # IN     (entry, t, offsets)
    chosen,  # IN     (rows,) numbers of hearings, one per event and place that hears it, ascending
    wiring,  # IN     Wiring of one layer
    times,  # IN     Times
    state,  # INOUT  State
    rows,  # OUT    (rows, synapses) direction of the traces at each
    recording,  # OUT    (rows,) the recording that it is in
):
    """What neurons without weights would learn from."""
    entry, time, offsets = events
    number, row = 0, 0
    for r in range(len(offsets) - 1):
        forget(times, wiring.layer, state)
        for i in range(offsets[r], offsets[r + 1]):
            e, t = entry[i], float(time[i])
            state.T[e] = t
            for at in range(wiring.reach[e], wiring.reach[e + 1]):
                if row < len(chosen) and number == chosen[row]:
                    first, square = wiring.heard_at[wiring.place[at]], 0.0
                    for s in range(wiring.synapses[0]):
                        heard = wiring.hears[first + s]
                        trace = exp(-(t - state.T[heard]) / times.trace_tau[0]) if heard >= 0 else 0.0
                        rows[row, s] = trace - times.inhibition[0]
                        square += rows[row, s] ** 2
                    rows[row] /= sqrt(square)
                    recording[row] = r
                    row += 1
                number += 1


@compiled
def potentials(
    events,  # IN     (entry, t, offsets)
    wiring,  # IN     Wiring of one layer
    times,  # IN     Times
    learned,  # IN     Learned
    state,  # INOUT  State
    highest,  # OUT    (hearings,) the highest potential of the place
):
    """Potentials of neurons that never fire."""
    entry, time, offsets = events
    number, units = 0, wiring.units[0]
    for r in range(len(offsets) - 1):
        forget(times, wiring.layer, state)
        for i in range(offsets[r], offsets[r + 1]):
            for at in range(wiring.reach[entry[i]], wiring.reach[entry[i] + 1]):
                place = wiring.place[at]
                integrate(0, place, wiring.synapse[at], float(time[i]), wiring, times, learned, state)
                first = wiring.neuron_at[place]
                highest[number] = state.v[first : first + units].max()
                number += 1
