    for (m = 0; m < ${rows}u; m++)
        for (i = 0; i < ${row}u; i++)
            ts[m * ${row}u + i] = (uint16_t)((faded(now - T[runs${k}[m] + i], ${limit}u, ${rate}u, ${point}) + ${round}u) >> ${shift});
