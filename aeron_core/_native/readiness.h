/* Readiness of many sockets with one system call. */
#ifndef AERON_CORE_READINESS_H
#define AERON_CORE_READINESS_H

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#define AC_READY_CAPACITY 64

typedef struct
{
    struct epoll_event events[AC_READY_CAPACITY];
    int count;
} ac_ready_t;

static inline int ac_ready_open(void)
{
    int descriptor = epoll_create1(EPOLL_CLOEXEC);
    return descriptor < 0 ? -errno : descriptor;
}

static inline void ac_ready_close(int descriptor) { close(descriptor); }

static inline int ac_ready_add(int descriptor, int watched, void *item)
{
    struct epoll_event event = { .events = EPOLLIN, .data = { .ptr = item } };
    return epoll_ctl(descriptor, EPOLL_CTL_ADD, watched, &event) == 0;
}

static inline void ac_ready_remove(int descriptor, int watched)
{
    struct epoll_event event = { .events = 0 };
    epoll_ctl(descriptor, EPOLL_CTL_DEL, watched, &event);
}

/* A socket with an error is ready too: reading it returns the error. An interrupted call returns 0. */
static inline int ac_ready_wait(int descriptor, ac_ready_t *ready)
{
    int count = epoll_wait(descriptor, ready->events, AC_READY_CAPACITY, 0);
    ready->count = count < 0 ? 0 : count;
    return ready->count;
}

static inline void *ac_ready_item(const ac_ready_t *ready, int index) { return ready->events[index].data.ptr; }

#endif
