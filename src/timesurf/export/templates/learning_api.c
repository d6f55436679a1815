static int32_t learned_from(${name}_t *n, ${signature}, int32_t label, int kind)
{
    int32_t voted = admit(n, ${plain_names});
    if (voted != 0)
        return voted;
    voted = route(n, ${cast_names});
    if (voted >= 0)
        judge(n, label < 0 || label == voted ? 1.0f : -1.0f, kind);
    return voted;
}

int32_t ${name}_push(${name}_t *n, ${signature})
{
    return learned_from(n, ${plain_names}, -1, -1);
}

int32_t ${name}_push_labelled(${name}_t *n, ${signature}, int32_t label)
{
    if (label < -1 || label >= ${NAME}_CLASSES)
        return ${NAME}_BAD_LABEL;
    return learned_from(n, ${plain_names}, label, 0);
}

int32_t ${name}_push_adapting(${name}_t *n, ${signature})
{
    return learned_from(n, ${plain_names}, -1, 1);
}

/* CRC-32 as in zlib. */
static uint32_t checksum(const uint8_t *bytes, uint32_t count)
{
    uint32_t crc = 0xffffffffu, i, bit;
    for (i = 0; i < count; i++) {
        crc ^= bytes[i];
        for (bit = 0; bit < 8u; bit++)
            crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1u)));
    }
    return ~crc;
}

void ${name}_save(const ${name}_t *n, uint8_t *to)
{
    const uint32_t which = ${digest}u;
    uint32_t check;
    memcpy(to, &which, 4);
${save}
    check = checksum(to, ${NAME}_LEARNED_BYTES - 4u);
    memcpy(to + (${NAME}_LEARNED_BYTES - 4), &check, 4);
}

int32_t ${name}_restore(${name}_t *n, const uint8_t *from)
{
    uint32_t which, check;
    memcpy(&which, from, 4);
    memcpy(&check, from + (${NAME}_LEARNED_BYTES - 4), 4);
    if (which != ${digest}u || check != checksum(from, ${NAME}_LEARNED_BYTES - 4u))
        return ${NAME}_BAD_SAVE;
${restore}
    return 0;
}
