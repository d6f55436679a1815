/* log2(1 + i / 128) with ${bits} bits after the point. */
static const int32_t logs[129] = {
${logs}
};

/* log2 of v > 0 with ${bits} bits after the point, within 1.2e-5. */
static int32_t logarithm(uint32_t v)
{
    int32_t whole = 31;
    const int32_t *low;
    for (; v < 0x80000000u; v <<= 1)
        whole--;
    low = logs + ((v >> 24) & 0x7fu);
    return whole * ${whole_one} + low[0] + (((low[1] - low[0]) * (int32_t)((v >> 8) & 0xffffu)) >> 16);
}

/* What an output event says about every class: log2 of the share of its units, which fall with their squared distance. */
static void weigh(${name}_t *n)
{
    const ${score} best = n->scores[n->fired[${index}]];
${slope}
    uint32_t share[${NAME}_CLASSES] = {0}, total = 0, c, u;
    int32_t all;
    for (u = 0; u < ${units}u; u++) {
        const uint64_t away = (uint64_t)((int64_t)n->scores[u] - best) >> ${down};
        if (away <= UINT32_MAX && ((away * slope) >> ${point}) < 30u) {
            const uint32_t v = faded((uint32_t)away, slope, ${point}) >> ${shift};
            share[u${per_class}] += v;
            total += v;
        }
    }
    all = logarithm(total);
    for (c = 0; c < ${NAME}_CLASSES; c++)
        n->evidence[c] += logarithm(share[c] + (uint32_t)(((uint64_t)total * ${doubt}u) >> 32)) - all;
}
