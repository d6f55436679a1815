/* Layer ${k}: ${about}. The surface of an event is written out and compared with every unit. */
static const float centroids${k}[${groups}][${entries}][${lanes}] = {
${centroids}
};
static const float half${k}[${padded}] = { /* |c|^2 / 2 of every unit; beyond the last unit so large that it never wins */
${half}
};
${tables}
static int layer${k}(${name}_t *n, ${arguments})
{
    uint32_t *const T = n->context${k} + ${begin};
    const uint32_t now = n->clock;
    float ts[${entries}], best = -3.2e38f${energy_start};
    uint16_t live[${entries}];
    uint32_t entries = 0, fired = 0, g, i, m, u;

    T[${own}] = now;
${gather}
    for (g = 0; g < ${groups}u; g++) {
        float sum[${lanes}];
        for (u = 0; u < ${lanes}u; u++)
            sum[u] = -half${k}[g * ${lanes}u + u];
        for (m = 0; m < entries; m++) {
            const float *const c = centroids${k}[g][live[m]];
            const float v = ts[m];
${multiply}
        }
        for (u = 0; u < ${lanes}u; u++) {
            if (sum[u] > best) {
                best = sum[u];
                fired = g * ${lanes}u + u;
            }
        }
    }
    n->fired[${index}] = (uint16_t)fired;
    return ${accept};
}
