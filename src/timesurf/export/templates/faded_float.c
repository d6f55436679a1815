/* exp(-age / tau), with rate = log2(e) / tau, for ages of up to 30 halvings. */
static float faded(uint32_t age, float rate)
{
    const float x = (float)(int32_t)age * rate;
    const int32_t whole = (int32_t)x;
    return fall(x - (float)whole) * halved((uint32_t)whole);
}
