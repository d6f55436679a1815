/* exp(-age / tau) with 24 bits after the point; rate, with point bits after its own point, is log2(e) / tau.
   0 from limit on, which is 30 halvings. */
static uint32_t faded(uint32_t age, uint32_t limit, uint32_t rate, unsigned point)
{
    const uint64_t phase = (uint64_t)(age < limit ? age : limit) * rate;
    const uint64_t whole = (phase + (((uint64_t)1 << point) - 1u)) >> point;
    const uint32_t value = whole < 32u ? risen(0u - phase, point) >> whole : 0u;
    return age < limit ? value : 0u;
}
