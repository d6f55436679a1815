/* 2^f with 24 bits after the point, for f = 0, 1/128 to 1. */
static const uint32_t powers[129] = {
${powers}
};

/* 2^f, from 1 to 2, with 24 bits after the point, where f is the fraction of a phase: time in halvings with so many
   bits after the point. Within 4e-6. */
static uint32_t risen(uint64_t phase, unsigned point)
{
    const uint32_t fraction = (uint32_t)((phase << (64u - point)) >> 32);
    const uint32_t *low = powers + (fraction >> 25);
    return low[0] + (((low[1] - low[0]) * ((fraction >> 11) & 0x3fffu)) >> 14);
}
