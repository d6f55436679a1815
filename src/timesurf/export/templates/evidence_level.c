    const uint64_t phase = ((uint64_t)n->clock * ${rate}u) & (((uint64_t)1 << ${point}) - 1u);
    const uint32_t level = risen(0u - phase, ${point}) >> (phase > 0u); /* 1 / the level of an entry that fires now */
    const uint32_t slope = (uint32_t)(((uint64_t)${steepness}u * level) >> 24);
