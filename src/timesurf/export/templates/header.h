/* ${title}
   Written by timesurf ${version} (${numbers}${learns}); do not edit.

   Network, from the input up:
${about}

${preparation}   RAM     ${ram} bytes: one ${name}_t, which you own, and up to ${stack} bytes of stack. Nothing is allocated.
   Flash   ${flash} bytes of constants, and 2 to 5 kB of code.
   Cost    at most, per event:
${cost}
${clock_cost}

   Example:

       static ${name}_t net;                                 too large for most stacks
       ${name}_init(&net);
       while (read_event(&${example_read})) {
           int32_t c = ${name}_push(&net, ${plain_names});
           if (c >= 0)
               show(${name}_class_names[c]);                 one event's class
       }
       int32_t decision = ${name}_decision(&net);            the class with ${decided}, or -1
       ${name}_reset(&net);                                  before the next recording

   Times are microseconds in 32 bits and may wrap around. Between two events there may be up to 2^31 us (35 minutes);
   call ${name}_reset after a longer pause.
   A ${name}_t is used by one thread at a time; any number of them may be in use.
   C99, no libm; of the C library memcpy and memset.
   Needs ${arithmetic}. */
#ifndef ${NAME}_H
#define ${NAME}_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    ${NAME}_CLASSES = ${classes},
    ${NAME}_LAYERS = ${layers},
    ${NAME}_REJECTED = -1,  /* a layer did not let the event pass */
    ${NAME}_BAD_PLACE = -2, /* coordinates or polarity outside the field: nothing has changed */
    ${NAME}_BAD_TIME = -3${more}  /* before the latest event, or over 2^31 us after it: nothing has changed */${more_codes}
};

typedef struct {
${fields}
} ${name}_t;

/* Begin: an empty memory${init_learns}. */
void ${name}_init(${name}_t *n);

/* One event at ${place}, polarity p (0 to ${most_p}), time t in us: the class it votes for,
   ${NAME}_REJECTED, or a reason for refusing it. */
int32_t ${name}_push(${name}_t *n, ${signature});

/* The class with ${decided} since the last reset, the lowest of equals; ${NAME}_REJECTED where there is none. */
int32_t ${name}_decision(const ${name}_t *n);

/* Forget the events, as before each recording${reset_learns}. */
void ${name}_reset(${name}_t *n);
${learning}
extern const char *const ${name}_class_names[${NAME}_CLASSES];

#ifdef __cplusplus
}
#endif

#endif
