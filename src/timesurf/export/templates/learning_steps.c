/* The square root, by Newton's method. */
static float root(float x)
{
    uint32_t bits;
    float y;
    if (!(x > 1e-30f))
        return 0.0f;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits >> 1) + 0x1fbd1df5u;
    memcpy(&y, &bits, sizeof y);
    y = 0.5f * (y + x / y);
    y = 0.5f * (y + x / y);
    return 0.5f * (y + x / y);
}

/* |S| of an output, 1 - mean of the other units' feedback; `spoke` says when each unit last fired at its place. */
static float separability(uint32_t *spoke, uint32_t units, uint32_t fired, uint32_t now, uint32_t limit, float rate)
{
    float others = 0.0f;
    uint32_t u;
    for (u = 0; u < units; u++)
        if (u != fired)
            others += faded(now - spoke[u], limit, rate);
    spoke[fired] = now;
    return units > 1u ? 1.0f - others / (float)(units - 1u) : 1.0f;
}

/* c += gain (ts - c) */
static void approach(float *c, const float *ts, uint32_t entries, float gain)
{
    uint32_t i;
    for (i = 0; i < entries; i++)
        c[i] += gain * (ts[i] - c[i]);
}

/* How much a surface so far away moves a threshold: exp(-away / d), with rate = log2(e) / d. */
static float near(float away, float rate)
{
    const float x = away > 0.0f ? away * rate : 0.0f;
    const uint32_t whole = x < 100.0f ? (uint32_t)x : 100u;
    return x < 100.0f ? fall(x - (float)whole) * halved(whole) : 0.0f;
}

/* th += by, with what rounding lost in `lost`: steps are far smaller than thresholds, and would be rounded away. */
static void add(float *th, float *lost, float by)
{
    const volatile float wanted = by + *lost, sum = *th + wanted, added = sum - *th;
    *lost = wanted - added;
    *th = sum;
    if (sum < 0.0f) {
        *th = 0.0f;
        *lost = 0.0f;
    }
}

/* Steps of a layer's thresholds. */
static void adjust(float *th, float *lost, const float *distance, const uint8_t *frozen, uint32_t units, uint32_t fired,
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
        if (u == fired)
            add(th + u, lost + u, gain * near(${away}, rates[4]));
        else if (competes && distance[u] < th[u])
            add(th + u, lost + u, -gain * near(${away}, rates[4]));
    }
}
