/* 2^f, from 1 to 2, where f is the fraction of a phase: time in halvings with so many bits after the point. */
static float risen(uint64_t phase, unsigned point)
{
    const uint32_t fraction = (uint32_t)((phase << (64u - point)) >> 40);
    return 2.0f * fall(1.0f - (float)fraction * (1.0f / 16777216.0f));
}
