/* From reset to main: the vector table, initial values, cleared memory, the FPU switched on where it is used. */
#include <stdint.h>
#include <string.h>

extern uint32_t stack_top, data_begin, data_end, data_in_flash, bss_begin, bss_end;
int main(void);

void reset(void)
{
#ifdef __ARM_FP
    *(volatile uint32_t *)0xe000ed88u |= 0xfu << 20; /* CPACR: full access to coprocessors 10 and 11 */
    __asm__ volatile("dsb\n\tisb");
#endif
    memcpy(&data_begin, &data_in_flash, (uintptr_t)&data_end - (uintptr_t)&data_begin);
    memset(&bss_begin, 0, (uintptr_t)&bss_end - (uintptr_t)&bss_begin);
    main();
    for (;;)
        __asm__ volatile("wfi");
}

static void stop(void) /* where every exception ends */
{
    for (;;)
        ;
}

__attribute__((section(".vectors"), used)) static void (*const vectors[16])(void) = {
    (void (*)(void)) & stack_top, reset, stop, stop, stop, stop, stop, 0, 0, 0, 0, stop, stop, 0, stop, stop,
};
