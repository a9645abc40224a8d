/* What the programs of this folder share: time, processor time, percentiles, and one line of JSON. */

#ifndef MEASURE_H
#define MEASURE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Print what failed, with errno, and exit. */
#define REQUIRE(condition)              \
    do {                                \
        if (!(condition)) {             \
            perror(#condition);         \
            exit(1);                    \
        }                               \
    } while (0)

static inline int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static inline int compare_i64(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Print the percentiles of round trips in ns; sorts them. */
static inline void print_round_trips(int64_t *times, size_t count)
{
    qsort(times, count, sizeof *times, compare_i64);
    printf("{\"p50 us\": %.3f, \"p99 us\": %.3f, \"round trips\": %zu}\n", times[count / 2] / 1e3,
           times[count * 99 / 100] / 1e3, count);
}

/* Print bytes per second, and the number of messages that they were. */
static inline void print_rate(double bytes, double length, int64_t elapsed_ns)
{
    printf("{\"MB/s\": %.3f, \"messages/s\": %.1f}\n", bytes * 1e3 / elapsed_ns, bytes / length * 1e9 / elapsed_ns);
}

static inline double seconds_of(const char *text)
{
    const double seconds = atof(text);
    if (!(seconds > 0)) {
        fprintf(stderr, "error: seconds=%s: must be above 0\n", text);
        exit(2);
    }
    return seconds;
}

static inline long length_of(const char *text, long least, long most)
{
    const long length = atol(text);
    if (length < least || length > most) {
        fprintf(stderr, "error: length=%s: must be from %ld to %ld\n", text, least, most);
        exit(2);
    }
    return length;
}

#endif
