/* Layer ${k}: ${about}.
   The surface of an event is written out and compared with every unit.${scales} */
static const ${weight} centroids${k}[${groups}][${entries}][${lanes}] = {
${centroids}
};
static const ${sum} half${k}[${padded}] = { /* |c|^2 / 2 of every unit; beyond the last unit so large that it never wins */
${half}
};
${tables}
static int layer${k}(${name}_t *n, ${arguments})
{
    uint32_t *const T = n->context${k} + ${begin};
    const uint32_t now = n->clock;
    ${surface} ts[${entries}];
    uint16_t live[${entries}];
    ${sum} best = -${most};
    uint32_t entries = 0, fired = 0, g, i, m, u;${energy_start}

    T[${own}] = now;
${gather}
    for (g = 0; g < ${groups}u; g++) {
        ${sum} sum[${lanes}];
        for (u = 0; u < ${lanes}u; u++)
            sum[u] = -half${k}[g * ${lanes}u + u];
        for (m = 0; m < entries; m++) {
            const ${weight} *const c = centroids${k}[g][live[m]];
            const ${sum} v = ts[m];
${multiply}
        }
        for (u = 0; u < ${lanes}u; u++) {${keep}
            if (sum[u] > best) {
                best = sum[u];
                fired = g * ${lanes}u + u;
            }
        }
    }
    n->fired[${index}] = (uint16_t)fired;
    return ${accept};
}
