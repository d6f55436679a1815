    for (i = 0; i < ${entries}u; i++)
        ts[i] = faded(now - T[i], ${limit}u, ${rate});
