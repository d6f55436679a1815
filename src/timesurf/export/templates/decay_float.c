/* 2^-f for f from 0 to 1, within 1.2e-7; exactly 1 at 0. */
static float fall(float f)
{
    return 1.0f + f * (-0.6931470643f + f * (0.2402243678f + f * (-0.05549075703f
        + f * (0.009579179573f + f * (-0.001274748204f + f * 0.0001090231971f)))));
}
