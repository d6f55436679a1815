/* Layer ${k}: ${about}.
   The first values of what it learns; then its work on an event. */
static const float first_centroids${k}[${size}] = {
${centroids}
};
static const float first_thresholds${k}[${units}] = { /* 3e38: none */
${half}
};
${frozen}
static int layer${k}(${name}_t *n, ${arguments})
{
    uint32_t *const T = n->context${k} + ${begin};
    const uint32_t now = n->clock;
    float best = 3.4e38f;
    uint32_t fired = 0, i, m, u;

    T[${own}] = now;
    for (m = 0; m < ${rows}u; m++)
        for (i = 0; i < ${row}u; i++) {
            const uint32_t age = now - T[${run} + i];
            n->ts${k}[m * ${row}u + i] = age < ${limit}u ? faded(age, ${rate}) : 0.0f;
        }
    for (u = 0; u < ${units}u; u++) {
        const float *const c = n->centroids${k} + u * ${entries}u;
        float apart = 0.0f;
        for (i = 0; i < ${entries}u; i++)
            apart += (n->ts${k}[i] - c[i]) * (n->ts${k}[i] - c[i]);
        n->apart${k}[u] = apart;
        if (apart < best) {
            best = apart;
            fired = u;
        }
    }
    n->fired[${index}] = (uint16_t)fired;
    return best < n->thresholds${k}[fired] * n->thresholds${k}[fired];
}
