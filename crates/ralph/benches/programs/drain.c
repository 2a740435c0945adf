/* Reads standard input to its end and does nothing with it. */
#include <unistd.h>

static char buffer[65536];

int main(void) {
    for (;;) {
        ssize_t n = read(0, buffer, sizeof buffer);
        if (n <= 0)
            return n < 0;
    }
}
