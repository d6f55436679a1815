    const uint32_t by = ${shift}u + halvings - (uint32_t)(phase >> ${point});
    return by < 32u ? risen(phase, ${point}) >> by : 0u;
