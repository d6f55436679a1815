/* log2 of v, from 1e-4 to 1.4, within 2e-7: a series in (v - 1) / (v + 1), after v was brought close to 1. */
static float logarithm(float v)
{
    float whole = 0.0f, s, square;
    for (; v < 0.04419417f; v *= 16.0f)
        whole -= 4.0f;
    for (; v < 0.70710678f; v *= 2.0f)
        whole -= 1.0f;
    s = (v - 1.0f) / (v + 1.0f);
    square = s * s;
    return whole + s * (2.885390082f + square * (0.9617966939f + square * (0.5770780164f + square * 0.4121985832f)));
}

/* What an output event says about every class: log2 of the share of its units, which fall with their squared distance. */
static void weigh(${name}_t *n)
{
    const float slope = ${slope}, best = n->${scores}[n->fired[${index}]];
    float share[${NAME}_CLASSES] = {0}, total = 0.0f;
    uint32_t c, u;
    for (u = 0; u < ${units}u; u++) {
        const float x = (n->${scores}[u] - best) * slope;
        if (x < 30.0f) {
            const uint32_t whole = (uint32_t)x;
            const float v = fall(x - (float)whole) * halved(whole);
            share[u${per_class}] += v;
            total += v;
        }
    }
    if (!(total > 0.0f))
        return; /* not a number: what was learned has diverged */
    for (c = 0; c < ${NAME}_CLASSES; c++)
        n->evidence[c] += (int32_t)(logarithm(share[c] / total + ${doubt}) * ${one});
}
