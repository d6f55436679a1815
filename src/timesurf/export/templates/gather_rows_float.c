    for (m = 0; m < ${rows}u; m++) {
        for (i = 0; i < ${row}u; i++) {
            const float v = faded(now - T[runs${k}[m] + i], ${limit}u, ${rate});
${energy_add}            ts[entries] = v;
            live[entries] = (uint16_t)(m * ${row}u + i);
            entries += v > 0.0f;
        }
    }
