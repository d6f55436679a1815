/* Events from memory through a network; decisions to the UART and to the LEDs.

   Recordings lie in the board's PSRAM, put there by the debugger or by QEMU's loader: a count, then 12 bytes per event.
   A sensor's driver takes their place in a product: it calls net_push with every event that it reads. */
#include "board.h"
#include "net.h"

typedef struct {
    uint16_t x, y, p, begins; /* begins: the first event of a recording */
    uint32_t t;
} event_t;

static const volatile uint32_t *const count = (const volatile uint32_t *)0x21000000u;
static const event_t *const events = (const event_t *)0x21000004u;
static net_t net;

static void report(uint32_t recording)
{
    const int32_t decision = net_decision(&net);
    board_leds(decision >= 0 ? 1u << (decision % 2) : 0u);
    board_send("recording ");
    board_send_number(recording);
    board_send(decision >= 0 ? " is class " : " is silent");
    if (decision >= 0)
        board_send_number((uint32_t)decision);
    board_send("\n");
}

int main(void)
{
    uint32_t i, recording = 0, ticks = 0, kept = 0, most = 0;
    board_start();
    net_init(&net);
    for (i = 0; i < *count; i++) {
        const event_t *const e = events + i;
        uint32_t began;
        int32_t c;
        if (e->begins && i > 0u) {
            report(recording++);
            net_reset(&net);
        }
        began = board_ticks();
#if DIMENSIONS == 1
        c = net_push(&net, e->x, e->p, e->t);
#else
        c = net_push(&net, e->x, e->y, e->p, e->t);
#endif
        began = board_ticks() - began;
        ticks += began;
        most = began > most ? began : most;
        kept += c >= 0;
    }
    report(recording);
    board_send("events ");
    board_send_number(*count);
    board_send(" kept ");
    board_send_number(kept);
    board_send(" ticks ");
    board_send_number(ticks);
    board_send(" most ");
    board_send_number(most);
    board_send("\nend\n");
    return 0;
}
