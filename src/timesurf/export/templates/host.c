/* Runs commands of 7 numbers of 32 bits from standard input: what to do, label, x, y, z, p, t. Writes for each the number
   that came back, the layers that let the event pass and the unit that fired in each layer. For tests of ${name}.c. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#endif

#include "${name}.h"

enum { PUSH, RESET, DECISION, LABELLED, ADAPTING, SAVE, RESTORE, DAMAGE };

static ${name}_t net;
${saved}
static int32_t run(const int32_t *c)
{
    switch (c[0]) {
    case PUSH:
        return ${name}_push(&net, ${event});
    case RESET:
        ${name}_reset(&net);
        return 0;
    case DECISION:
        return ${name}_decision(&net);
${learning}    default:
        return -9;
    }
}

int main(void)
{
    size_t room = 1u << 20, commands = 0, i;
    int32_t *in = malloc(room * sizeof *in), *out;
    uint32_t k;
    clock_t began;
#ifdef _WIN32
    _setmode(0, _O_BINARY);
    _setmode(1, _O_BINARY);
#endif
    for (;;) {
        const size_t read = fread(in + commands, sizeof *in, room - commands, stdin);
        if (read == 0)
            break;
        commands += read;
        if (commands == room)
            in = realloc(in, (room *= 2) * sizeof *in);
    }
    commands /= 7;
    out = calloc(commands + 1, sizeof *out * (2 + ${NAME}_LAYERS));
    ${name}_init(&net);
    began = clock();
    for (i = 0; i < commands; i++) {
        int32_t *const row = out + i * (2 + ${NAME}_LAYERS);
        row[0] = run(in + 7 * i);
        row[1] = net.passed;
        for (k = 0; k < ${NAME}_LAYERS; k++)
            row[2 + k] = net.fired[k];
    }
    fprintf(stderr, "%.9f %lu\n", (double)(clock() - began) / CLOCKS_PER_SEC, (unsigned long)sizeof net);
    fwrite(out, sizeof *out * (2 + ${NAME}_LAYERS), commands, stdout);
${ending}    free(in);
    free(out);
    return 0;
}
