/* Layer ${k}: ${about}. Its dot products with the surface are kept, and every event changes one entry of the surface.
   Centroids are in units of 1/${scale}, surfaces in units of 1/${one}.

   An entry set at time T counts as 2^(phase of T - whole halvings so far), so between two halvings only the entry that
   an event sets changes, and at a halving all dot products are halved. */
static const ${weight} centroids${k}[${entries}][${units}] = {
${centroids}
};
static const uint32_t half${k}[${units}] = { /* |c|^2 / 2 of every unit, in units of 1/(${scale} * 2^${finer}) */
${half}
};

static void enter${k}(${name}_t *n, uint32_t block, uint32_t entry, uint32_t halvings, int32_t change)
{
    ${sum} *const dots = n->dots${k} + block * ${units}u;
    const ${weight} *const c = centroids${k}[entry];
    const uint32_t since = halvings - n->halvings${k}[block];
    uint32_t u;
    if (since > 0u) {
        for (u = 0; u < ${units}u; u++)
            dots[u] = since < ${bits}u ? dots[u] / ((${sum})1 << since) : 0;
        n->halvings${k}[block] = halvings;
    }
    for (u = 0; u < ${units}u; u++)
        dots[u] += change * c[u];
}

/* What an entry that was set at this phase counts for at so many whole halvings. */
static uint32_t level${k}(uint64_t phase, uint32_t halvings)
{
    const uint32_t by = ${shift}u + halvings - (uint32_t)(phase >> ${point});
    return by < 32u ? risen(phase, ${point}) >> by : 0u;
}

static int layer${k}(${name}_t *n, ${arguments})
{
    const uint32_t block = ${block}, entry = ${entry};
    uint32_t *const T = n->context${k} + block * ${entries}u + entry;
    const uint64_t phase = (uint64_t)n->clock * ${rate}u;
    const ${sum} *const dots = n->dots${k} + block * ${units}u;
    const uint32_t halvings = (uint32_t)(phase >> ${point}), level = level${k}(phase, halvings);
    uint32_t before = 0, fired = 0, u;
    int64_t best = INT64_MAX;

    if (n->clock - *T < ${limit}u)
        before = level${k}((uint64_t)*T * ${rate}u, halvings);
    *T = n->clock;
    enter${k}(n, block, entry, halvings, (int32_t)(level - before));
    for (u = 0; u < ${units}u; u++) {
        const int64_t score = (int64_t)(((uint64_t)half${k}[u] * level) >> ${finer}) - dots[u];
        if (score < best) {
            best = score;
            fired = u;
        }
    }
    n->fired[${index}] = (uint16_t)fired;
    return 1;
}

/* Compute the dot products again, from the times alone. */
static void again${k}(${name}_t *n)
{
    const uint32_t now = (uint32_t)(((uint64_t)n->clock * ${rate}u) >> ${point});
    uint32_t block, entry;
    memset(n->dots${k}, 0, sizeof n->dots${k});
    for (block = 0; block < ${blocks}u; block++) {
        n->halvings${k}[block] = now;
        for (entry = 0; entry < ${entries}u; entry++) {
            const uint32_t T = n->context${k}[block * ${entries}u + entry];
            if (n->clock - T < ${limit}u)
                enter${k}(n, block, entry, now, (int32_t)level${k}((uint64_t)T * ${rate}u, now));
        }
    }
}
