/* Groups of units that a surface is compared with at once: so many sums as the processor has registers for. */
#if defined(__x86_64__) || defined(__aarch64__)
#define TOGETHER 4u
#else
#define TOGETHER 1u
#endif
