
/* The same, and then learn from the event by the online rule: label is the right class, or -1 where it is unknown. */
int32_t ${name}_push_labelled(${name}_t *n, ${signature}, int32_t label);

/* The same, and then learn without a label, slower, to follow an input that changes: a tenth of beta. */
int32_t ${name}_push_adapting(${name}_t *n, ${signature});

/* Write what was learned, ${NAME}_LEARNED_BYTES bytes in this processor's byte order, with a checksum: to flash, say. */
void ${name}_save(const ${name}_t *n, uint8_t *to);

/* Read it back: 0, or ${NAME}_BAD_SAVE where the bytes are damaged or of another network, and nothing has changed. */
int32_t ${name}_restore(${name}_t *n, const uint8_t *from);
