/*
 * Limit of shared memory: copies within memory, of one thread, from one range that fits no cache to another.
 *
 *     copies LENGTH SECONDS        copy pieces of LENGTH bytes
 */

#include "measure.h"

#define RANGE (64L * 1024 * 1024)

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: copies LENGTH SECONDS\n");
        return 2;
    }
    const long length = length_of(argv[1], 1, RANGE);
    const double seconds = seconds_of(argv[2]);
    char *source = malloc(RANGE), *target = malloc(RANGE);
    REQUIRE(source != NULL && target != NULL);
    memset(source, 1, RANGE);
    memset(target, 2, RANGE);
    double copied = 0;
    long offset = 0;
    const int64_t start = now_ns();
    int64_t elapsed;
    do {
        for (int i = 0; i < 1024; i++) {
            if (offset + length > RANGE)
                offset = 0;
            memcpy(target + offset, source + offset, length);
            /* The compiler must not leave out copies that nothing reads. */
            __asm__ volatile("" : : "r"(target) : "memory");
            offset += length;
        }
        copied += 1024.0 * length;
        elapsed = now_ns() - start;
    } while (elapsed < seconds * 1e9);
    print_rate(copied, length, elapsed);
    return 0;
}
