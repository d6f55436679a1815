/* 2^-k exactly, for k from 0 to 31: by its bits, which compilers can do for many at once. */
static float halved(uint32_t k)
{
    const uint32_t bits = (127u - k) << 23;
    float power;
    memcpy(&power, &bits, 4);
    return power;
}
