    for (m = 0; m < ${rows}u; m++) {
        for (i = 0; i < ${row}u; i++) {
            const uint32_t v = (faded(now - T[runs${k}[m] + i], ${limit}u, ${rate}u, ${point}) + ${round}u) >> ${shift};
${energy_add}            ts[entries] = (uint16_t)v;
            live[entries] = (uint16_t)(m * ${row}u + i);
            entries += v > 0u;
        }
    }
