/* exp(-age / tau) with 24 bits after the point, for ages of up to 30 halvings; rate, with point bits after its own point,
   is log2(e) / tau. */
static uint32_t faded(uint32_t age, uint32_t rate, unsigned point)
{
    const uint64_t phase = (uint64_t)age * rate;
    return risen(0u - phase, point) >> (uint32_t)((phase + (((uint64_t)1 << point) - 1u)) >> point);
}
