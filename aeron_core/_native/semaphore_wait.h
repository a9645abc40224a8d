/* Wait for a semaphore with a timeout that is independent of the wall clock.
 *
 * sem_clockwait was added in glibc 2.30. It is a weak symbol here, so that a build for an older glibc uses it when it
 * runs with a newer one. Without it (older glibc, musl) the semaphore is polled every millisecond: sem_timedwait takes
 * its deadline from the wall clock and would wait an hour longer when that is set back by an hour. */
#ifndef AERON_CORE_SEMAPHORE_WAIT_H
#define AERON_CORE_SEMAPHORE_WAIT_H

#include <semaphore.h>
#include <stdint.h>
#include <time.h>

#define AC_SECOND_NS 1000000000
  #define AC_CHECK_INTERVAL_NS 1000000

#ifndef AC_WITHOUT_SEM_CLOCKWAIT
extern int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *deadline) __attribute__((weak));
#endif

static inline int64_t ac_monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * (int64_t)AC_SECOND_NS + now.tv_nsec;
}

/* Return whether the semaphore was posted. A signal of the process may end the wait early. */
static inline int ac_semaphore_wait(sem_t *semaphore, int64_t timeout_ns)
{
    const int64_t deadline_ns = ac_monotonic_ns() + timeout_ns;
    int64_t left_ns;
#ifndef AC_WITHOUT_SEM_CLOCKWAIT
    if (sem_clockwait != 0)
    {
        const struct timespec deadline = {
            .tv_sec = deadline_ns / AC_SECOND_NS, .tv_nsec = deadline_ns % AC_SECOND_NS
        };
        return sem_clockwait(semaphore, CLOCK_MONOTONIC, &deadline) == 0;
    }
#endif
    while (sem_trywait(semaphore) != 0)
    {
        left_ns = deadline_ns - ac_monotonic_ns();
        if (left_ns <= 0)
        {
            return 0;
        }
        const struct timespec step = {
            .tv_sec = 0, .tv_nsec = left_ns < AC_CHECK_INTERVAL_NS ? left_ns : AC_CHECK_INTERVAL_NS
        };
        nanosleep(&step, 0);
    }
    return 1;
}

#endif
