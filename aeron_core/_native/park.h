/* Wait operations, from the shortest to the longest, and bells that end the longest one early. */
#ifndef AERON_CORE_PARK_H
#define AERON_CORE_PARK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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

/* The flag of a bell: 1 while its thread waits, or runs its last duty cycle before it. */
static inline int ac_bell_is_armed(const int32_t *flag) { return __atomic_load_n(flag, __ATOMIC_RELAXED); }

/* Sequentially consistent: after it, and a fence, a duty cycle sees what was stored before a ring that found the flag 0. */
static inline void ac_bell_set(int32_t *flag, int32_t value) { __atomic_store_n(flag, value, __ATOMIC_SEQ_CST); }

/* Bits of a mask, and pipes by number. */
#define AC_PIPES 32

/* Only the caller that clears the flag writes. A full pipe has a byte to wake the thread already. */
static inline void ac_bell_ring(int32_t *flag, int fd)
{
    int32_t armed = 1;
    if (__atomic_compare_exchange_n(flag, &armed, 0, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) && write(fd, "", 1) < 0)
    {
        return;
    }
}

/* A ring after this fence loads the flag after the store that it announces, so that it is not lost: either this load
 * sees the flag, or the look that follows the setting of the flag sees the store. */
static inline void ac_bell_fence(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

/* Set the bit of a waiting event loop in the mask of a stream; return whether it was not set. Sequentially consistent, as
 * `ac_bell_set`. */
static inline int ac_mask_set(int32_t *mask, int number)
{
    uint32_t bit = 1u << number;
    /* Most are set, by an earlier wait: a load leaves the cache line shared. */
    return !(__atomic_load_n((uint32_t *)mask, __ATOMIC_SEQ_CST) & bit)
        && !(__atomic_fetch_or((uint32_t *)mask, bit, __ATOMIC_SEQ_CST) & bit);
}

static inline int ac_mask_has(const int32_t *mask, int number)
{
    return __atomic_load_n((const uint32_t *)mask, __ATOMIC_ACQUIRE) >> number & 1;
}

/* Return the descriptor of a pipe that another process has created in `folder`, -1 if there is none. Open for reading,
 * too: a write then never fails because nothing reads, which would raise SIGPIPE. */
static inline int ac_pipe_open(int folder, int number)
{
    char name[8];
    struct stat status;
    snprintf(name, sizeof name, "c%d", number);
    int fd = openat(folder, name, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, &status) != 0 || !S_ISFIFO(status.st_mode)))
    {
        close(fd);
        return -1;
    }
    return fd;
}

/* Clear the mask of a stream, and write to the pipe of each bit. `pipes` are opened when they are first used; that of a
 * number stays the same until the driver ends. */
static inline void ac_mask_ring(int32_t *mask, int folder, int *pipes)
{
    uint32_t waiting = __atomic_exchange_n((uint32_t *)mask, 0, __ATOMIC_SEQ_CST);
    for (; waiting != 0; waiting &= waiting - 1)
    {
        int *pipe = pipes + __builtin_ctz(waiting), fd = __atomic_load_n(pipe, __ATOMIC_RELAXED);
        if (fd < 0)
        {
            int none = -1;
            fd = ac_pipe_open(folder, __builtin_ctz(waiting));
            /* Another thread may have opened it meanwhile. */
            if (fd >= 0 && !__atomic_compare_exchange_n(pipe, &none, fd, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            {
                close(fd);
                fd = none;
            }
        }
        if (fd >= 0 && write(fd, "", 1) < 0)
        {
            continue;
        }
    }
}

static inline void ac_bell_push(int fd)
{
    if (write(fd, "", 1) < 0)
    {
        return;
    }
}

/* Wait up to `ns` until `waited`, the pipe or a set of epoll with it, is readable. Return whether another descriptor than the
 * pipe ended the wait. */
static inline int ac_bell_wait(int waited, int pipe, int64_t ns)
{
    struct pollfd entry = { .fd = waited, .events = POLLIN };
    struct timespec limit = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
    char bytes[64];
    if (ppoll(&entry, 1, &limit, NULL) <= 0)
    {
        return 0;
    }
    int is_rung = 0;
    ssize_t count;
    while ((count = read(pipe, bytes, sizeof bytes)) > 0)
    {
        is_rung = 1;
    }
    return !is_rung;
}

static inline int ac_bell_set_open(void) { return epoll_create1(EPOLL_CLOEXEC); }

static inline int ac_bell_watch(int set, int fd)
{
    struct epoll_event event = { .events = EPOLLIN };
    return epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0;
}

#endif
