    for (i = 0; i < ${entries}u; i++) {
        const uint32_t age = now - T[i];
        if (age < ${limit}u) { /* what has decayed is left out */
            const ${value} v = ${faded};
${energy_add}            ts[entries] = (${surface})v;
            live[entries++] = (uint16_t)i;
        }
    }
