    for (m = 0; m < ${rows}u; m++) {
        for (i = 0; i < ${row}u; i++) {
            const uint32_t age = now - T[runs${k}[m] + i];
            if (age < ${limit}u) { /* what has decayed is left out */
                const ${value} v = ${faded};
${energy_add}                ts[entries] = (${surface})v;
                live[entries++] = (uint16_t)(m * ${row}u + i);
            }
        }
    }
