/* Wait operations, from the shortest to the longest. */
#ifndef AERON_CORE_PARK_H
#define AERON_CORE_PARK_H

#include <sched.h>
#include <stdint.h>
#include <time.h>

static inline void ac_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static inline void ac_yield(void) { sched_yield(); }

static inline void ac_sleep_ns(int64_t ns)
{
    struct timespec duration = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
    nanosleep(&duration, NULL);
}

#endif
