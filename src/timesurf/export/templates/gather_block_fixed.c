    for (i = 0; i < ${entries}u; i++) {
        const uint32_t v = (faded(now - T[i], ${limit}u, ${rate}u, ${point}) + ${round}u) >> ${shift};
${energy_add}        ts[entries] = (uint16_t)v;
        live[entries] = (uint16_t)i;
        entries += v > 0u;
    }
