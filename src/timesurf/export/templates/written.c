/* Layer ${k}: ${about}.
   The surface of an event is written out and compared with every unit.${scales} */
static const ${weight} centroids${k}[${groups}][${entries}][${lanes}] = {
${centroids}
};
static const ${sum} half${k}[${padded}] = { /* |c|^2 / 2 of every unit; beyond the last unit so large that it never wins */
${half}
};
${tables}
/* Entry v of a surface times that entry of a group of units. */
static void times${k}(${sum} *sum, ${sum} v, const ${weight} *c)
{
${multiply}
}

static int layer${k}(${name}_t *n, ${arguments})
{
    uint32_t *const T = n->context${k} + ${begin};
    const uint32_t now = n->clock;
    uint32_t ages[${entries}];
    uint16_t live[${entries}];
    ${surface} ts[${entries}];
    ${sum} best = -${most};
    uint32_t entries = 0, fired = 0, g, i, m, u;${energy_start}

    T[${own}] = now;
${gather}
    for (m = 0; m < entries; m++)
        ts[m] = (${surface})(${faded});
${energy_add}    for (g = 0; g < ${groups}u; g += ${together}) {
        ${sum} sum[${lanes} * ${together}];
        for (u = 0; u < ${lanes}u * ${together}; u++)
            sum[u] = -half${k}[g * ${lanes}u + u];
        for (m = 0; m < entries; m++)
            for (i = 0; i < ${together}; i++)
                times${k}(sum + ${lanes}u * i, ts[m], centroids${k}[g + i][live[m]]);
        for (u = 0; u < ${lanes}u * ${together}; u++) {${keep}
            if (sum[u] > best) {
                best = sum[u];
                fired = g * ${lanes}u + u;
            }
        }
    }
    n->fired[${index}] = (uint16_t)fired;
    return ${accept};
}
