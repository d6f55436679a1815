/* ${title}
   Written by timesurf ${version}; do not edit. ${name}.h says how to use it. */
#include "${name}.h"

#include <string.h>

${parts}
