/* Times in this file are on the network's own clock, which begins ${start} us after 0: 0 is so long ago that all has
   decayed, and stands for never. Before the clock wraps, it is set back, and all times with it. */
static void set_back(uint32_t *times, uint32_t count, uint32_t by)
{
    uint32_t i;
    for (i = 0; i < count; i++)
        times[i] = times[i] > by ? times[i] - by : 0u;
}

/* Move the clock to an event at t; 0 if t lies before the latest event. */
static int advance(${name}_t *n, uint32_t t)
{
    const uint32_t elapsed = n->started ? t - n->latest : 0u;
    if (elapsed > 0x7fffffffu)
        return 0;
    if (n->clock > 0x7fffffffu) {
        const uint32_t by = n->clock - ${start}u;
        n->clock = ${start}u;
${set_back}
    }
    n->clock += elapsed;
    n->latest = t;
    n->started = 1;
    return 1;
}
