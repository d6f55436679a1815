    for (i = 0; i < ${entries}u; i++) {
        const uint32_t age = now - T[i];
        if (age < ${limit}u) { /* what has decayed is left out */
            const uint32_t v = (faded(age, ${rate}u, ${point}) + ${round}u) >> ${shift};
${energy_add}            ts[entries] = (uint16_t)v;
            live[entries++] = (uint16_t)i;
        }
    }
