/* Layer ${k}: ${about}.
   Its dot products with the surface are kept, and every event changes one entry of the surface.${scales}

   An entry set at time T counts as 2^(phase of T - whole halvings so far), so between two halvings only the entry that
   an event sets changes, and at a halving all dot products are halved. */
static const ${weight} centroids${k}[${entries}][${units}] = {
${centroids}
};
static const ${half_type} half${k}[${units}] = { /* |c|^2 / 2 of every unit${half_scale} */
${half}
};

/* What an entry that was set at this phase counts for after so many whole halvings. */
static ${level} level${k}(uint64_t phase, uint32_t halvings)
{
${level_body}
}

static void enter${k}(${name}_t *n, uint32_t block, uint32_t entry, uint32_t halvings, ${change} change)
{
    ${sum} *const dots = n->dots${k} + block * ${units}u;
    const ${weight} *const c = centroids${k}[entry];
    const uint32_t since = halvings - n->halvings${k}[block];
    uint32_t u;
    if (since > 0u) {
        for (u = 0; u < ${units}u; u++)
            dots[u] = since < ${bits}u ? ${halving} : 0;
        n->halvings${k}[block] = halvings;
    }
    for (u = 0; u < ${units}u; u++)
        dots[u] += change * c[u];
}

static int layer${k}(${name}_t *n, ${arguments})
{
    const uint32_t block = ${block}, entry = ${own};
    uint32_t *const T = n->context${k} + block * ${entries}u + entry;
    const uint64_t phase = (uint64_t)n->clock * ${rate}u;
    const uint32_t halvings = (uint32_t)(phase >> ${point});
    const ${sum} *const dots = n->dots${k} + block * ${units}u;
    const ${level} level = level${k}(phase, halvings);
    ${level} before = 0;
    ${score} best = ${most};
    uint32_t fired = 0, u;

    if (n->clock - *T < ${limit}u)
        before = level${k}((uint64_t)*T * ${rate}u, halvings);
    *T = n->clock;
    enter${k}(n, block, entry, halvings, (${change})(level - before));
    for (u = 0; u < ${units}u; u++) {
        const ${score} score = ${scored} - dots[u];${keep}
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
                enter${k}(n, block, entry, now, (${change})level${k}((uint64_t)T * ${rate}u, now));
        }
    }
}
