/* alpha, beta, gamma, delta and log2(e) / d of every layer: with labels, and without. */
static const float rates[2][${NAME}_LAYERS][5] = {
${rates}
};

/* S and dS of an output event, and unless `kind` is -1 what every layer learns from them. */
static void judge(${name}_t *n, float sign, int kind)
{
    float S[${NAME}_LAYERS], dS[${NAME}_LAYERS];
    const float(*const rate)[5] = kind >= 0 ? rates[kind] : rates[0];
    float gain;
${judge}
    if (kind < 0)
        return;
${learn}
}
