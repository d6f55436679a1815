    for (i = 0; i < ${entries}u; i++) {
        ages[entries] = now - T[i];
        live[entries] = (uint16_t)i;
        entries += ages[entries] < ${limit}u; /* what has decayed is overwritten */
    }
