/* One event on the clock, at a place that was checked, through all layers: its class or ${NAME}_REJECTED. */
static int32_t route(${name}_t *n, ${arguments})
{
    uint32_t voted;
    n->passed = 0;
${route}
    voted = n->fired[${last}]${per_class};
    if (n->votes[voted] < UINT32_MAX)
        n->votes[voted]++;
${weigh}    return (int32_t)voted;
}

/* Check an event and set the clock: 0, or why it is refused. */
static int32_t admit(${name}_t *n, ${signature})
{
    if (${outside})
        return ${NAME}_BAD_PLACE;
    return advance(n, t) ? 0 : ${NAME}_BAD_TIME;
}

${push}

int32_t ${name}_decision(const ${name}_t *n)
{
    uint32_t c, most = 0, some = n->votes[0];
    for (c = 1; c < ${NAME}_CLASSES; c++) {
        some |= n->votes[c];
        if (n->${decides}[c] > n->${decides}[most])
            most = c;
    }
    return some > 0u ? (int32_t)most : ${NAME}_REJECTED;
}

void ${name}_reset(${name}_t *n)
{
${reset}
}

void ${name}_init(${name}_t *n)
{
${init}
}

const char *const ${name}_class_names[${NAME}_CLASSES] = {
${class_names}
};
