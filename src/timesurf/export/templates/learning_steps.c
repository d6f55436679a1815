/* The square root, by Newton's method, which falls from above until rounding stops it. */
static float root(float x)
{
    float y = 0.5f * (x + 1.0f), next;
    if (!(x > 0.0f))
        return 0.0f;
    while ((next = 0.5f * (y + x / y)) < y)
        y = next;
    return y;
}

/* Mean feedback of the other units, 1 - |S|, of an output; `spoke` says when each unit last fired at its place. */
static float density(uint32_t *spoke, uint32_t units, uint32_t fired, uint32_t now, uint32_t limit, float rate)
{
    float others = 0.0f;
    uint32_t u;
    for (u = 0; u < units; u++)
        if (u != fired && now - spoke[u] < limit)
            others += faded(now - spoke[u], rate);
    spoke[fired] = now;
    return units > 1u ? others / (float)(units - 1u) : 0.0f;
}

/* S and dS of an output, where `previous` is sign and density of the one before at its place. While one unit fires
   steadily dS is far smaller than S, so that the difference of two S would be mostly rounding. */
static void judged(float sign, float density, float *previous, float *S, float *dS)
{
    *S = sign - sign * density;
    *dS = (sign - previous[0]) - (sign * density - previous[0] * previous[1]);
    previous[0] = sign;
    previous[1] = density;
}

/* value += by, with what rounding lost in `lost`: steps are far smaller than what they change, and would be rounded away. */
static void add(float *value, float *lost, float by)
{
    const volatile float wanted = by + *lost, sum = *value + wanted, added = sum - *value;
    *lost = wanted - added;
    *value = sum;
}

/* c += gain (ts - c) */
static void approach(float *c, float *lost, const float *ts, uint32_t entries, float gain)
{
    uint32_t i;
    for (i = 0; i < entries; i++)
        add(c + i, lost + i, gain * (ts[i] - c[i]));
}

/* How much a surface so far away moves a threshold: exp(-away / d), with rate = log2(e) / d. */
static float near(float away, float rate)
{
    const float x = away > 0.0f ? away * rate : 0.0f;
    const uint32_t whole = x < 31.0f ? (uint32_t)x : 31u;
    return x < 31.0f ? fall(x - (float)whole) * halved(whole) : 0.0f;
}

/* Steps of a layer's thresholds. */
static void adjust(float *th, float *lost, const float *apart, const uint8_t *frozen, uint32_t units, uint32_t fired,
    float S, float dS, const float *rates)
{
    const float gain = rates[2] * dS + rates[3] * S;
    const int competes = ${competition} && S >= -1e-6f && dS >= -1e-6f;
    uint32_t u;
    if (gain == 0.0f)
        return;
    for (u = 0; u < units; u++) {
        if (th[u] >= 3.0e38f || (frozen && frozen[u]))
            continue;
        if (u == fired || (competes && apart[u] < th[u] * th[u])) {
            const float by = gain * near(${away}, rates[4]);
            add(th + u, lost + u, u == fired ? by : -by);
            if (th[u] < 0.0f) {
                th[u] = 0.0f;
                lost[u] = 0.0f;
            }
        }
    }
}
