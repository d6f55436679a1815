    for (i = 0; i < ${entries}u; i++)
        ts[i] = (uint16_t)((faded(now - T[i], ${limit}u, ${rate}u, ${point}) + ${round}u) >> ${shift});
