/* What the firmware uses of Arm's MPS2 board: a UART, the LEDs, a timer. Another board has these elsewhere. */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

#define REGISTER(address) (*(volatile uint32_t *)(address))

static inline void board_start(void)
{
    REGISTER(0x40004010u) = 16;          /* UART0: clock divided by 16 */
    REGISTER(0x40004008u) = 1;           /* UART0: transmit */
    REGISTER(0x40000008u) = 0xffffffffu; /* timer 0: count down from here, again and again */
    REGISTER(0x40000000u) = 1;
}

static inline void board_send(const char *text)
{
    for (; *text; text++) {
        while (REGISTER(0x40004004u) & 1u) /* the transmitter is full */
            ;
        REGISTER(0x40004000u) = (uint8_t)*text;
    }
}

static inline void board_send_number(uint32_t number)
{
    char digits[11];
    char *at = digits + 10;
    *at = 0;
    do
        *--at = (char)('0' + number % 10u);
    while ((number /= 10u) > 0u);
    board_send(at);
}

/* Ticks of the board's 25 MHz clock, up. Under `qemu -icount shift=0` an instruction takes 1 ns: 40 of them are a tick. */
static inline uint32_t board_ticks(void)
{
    return 0u - REGISTER(0x40000004u);
}

static inline void board_leds(uint32_t on)
{
    REGISTER(0x40028000u) = on;
}

#endif
