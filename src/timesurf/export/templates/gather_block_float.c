    for (i = 0; i < ${entries}u; i++) {
        const uint32_t age = now - T[i];
        if (age < ${limit}u) { /* what has decayed is left out */
            const float v = faded(age, ${rate});
${energy_add}            ts[entries] = v;
            live[entries++] = (uint16_t)i;
        }
    }
