    for (i = 0; i < ${entries}u; i++) {
        const float v = faded(now - T[i], ${limit}u, ${rate});
${energy_add}        ts[entries] = v;
        live[entries] = (uint16_t)i;
        entries += v > 0.0f;
    }
