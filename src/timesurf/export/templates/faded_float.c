/* exp(-age / tau), with rate = log2(e) / tau; 0 from limit on, which is 30 halvings. */
static float faded(uint32_t age, uint32_t limit, float rate)
{
    const float x = (float)(int32_t)(age < limit ? age : limit) * rate;
    const int32_t whole = (int32_t)x;
    const float value = fall(x - (float)whole) * halved((uint32_t)whole);
    return age < limit ? value : 0.0f;
}
