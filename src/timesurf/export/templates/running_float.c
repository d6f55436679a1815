/* Layer ${k}: ${about}. Its dot products with the surface are kept, and every event changes one entry of the surface.

   An entry set at time T counts as 2^(phase of T - whole halvings so far), so between two halvings only the entry that
   an event sets changes, and at a halving all dot products are halved, which rounds nothing. */
static const float centroids${k}[${entries}][${units}] = {
${centroids}
};
static const float half${k}[${units}] = { /* |c|^2 / 2 of every unit */
${half}
};

static void enter${k}(${name}_t *n, uint32_t block, uint32_t entry, uint64_t phase, float change)
{
    float *const dots = n->dots${k} + block * ${units}u;
    const float *const c = centroids${k}[entry];
    const uint32_t halvings = (uint32_t)(phase >> ${point}), since = halvings - n->halvings${k}[block];
    uint32_t u;
    if (since > 0u) {
        const float scale = since < 32u ? halved(since) : 0.0f;
        for (u = 0; u < ${units}u; u++)
            dots[u] *= scale;
        n->halvings${k}[block] = halvings;
    }
    for (u = 0; u < ${units}u; u++)
        dots[u] += change * c[u];
}

static int layer${k}(${name}_t *n, ${arguments})
{
    const uint32_t block = ${block}, entry = ${entry};
    uint32_t *const T = n->context${k} + block * ${entries}u + entry;
    const uint64_t phase = (uint64_t)n->clock * ${rate}u;
    const float *const dots = n->dots${k} + block * ${units}u;
    const float level = risen(phase, ${point});
    float change = level, best = 3.0e38f;
    uint32_t fired = 0, u;

    if (n->clock - *T < ${limit}u) {
        const uint64_t before = (uint64_t)*T * ${rate}u;
        change -= risen(before, ${point}) * halved((uint32_t)(phase >> ${point}) - (uint32_t)(before >> ${point}));
    }
    *T = n->clock;
    enter${k}(n, block, entry, phase, change);
    for (u = 0; u < ${units}u; u++) {
        const float score = half${k}[u] * level - dots[u];
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
            const uint64_t phase = (uint64_t)T * ${rate}u;
            if (n->clock - T < ${limit}u)
                enter${k}(n, block, entry, (uint64_t)now << ${point},
                    risen(phase, ${point}) * halved(now - (uint32_t)(phase >> ${point})));
        }
    }
}
