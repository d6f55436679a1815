    for (m = 0; m < ${rows}u; m++)
        for (i = 0; i < ${row}u; i++) {
            ages[entries] = now - T[runs${k}[m] + i];
            live[entries] = (uint16_t)(m * ${row}u + i);
            entries += ages[entries] < ${limit}u; /* what has decayed is overwritten */
        }
