/* Byte connections over TCP and Unix sockets: each call returns at once. Results below 0 are -errno. */
#ifndef AERON_CORE_CONNECTIONS_H
#define AERON_CORE_CONNECTIONS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define AC_CONNECTION_WAITS 0
#define AC_CONNECTION_ENDED -100000 /* no errno is as low */

static inline int ac_connection_is_wait(int code) { return EAGAIN == code || EWOULDBLOCK == code || EINTR == code; }

static inline int64_t ac_connection_receive(int fd, uint8_t *into, int64_t length)
{
    ssize_t received = recv(fd, into, (size_t)length, MSG_DONTWAIT);
    if (received > 0)
    {
        return received;
    }
    if (0 == received)
    {
        return AC_CONNECTION_ENDED;
    }
    return ac_connection_is_wait(errno) ? AC_CONNECTION_WAITS : -errno;
}

static inline int64_t ac_connection_send(int fd, const uint8_t *from, int64_t length)
{
    ssize_t sent = send(fd, from, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0)
    {
        return sent;
    }
    return ac_connection_is_wait(errno) ? AC_CONNECTION_WAITS : -errno;
}

/* Send several pieces of memory with one call. */
static inline int64_t ac_connection_send_vector(int fd, const struct iovec *pieces, int count)
{
    struct msghdr message = { .msg_iov = (struct iovec *)pieces, .msg_iovlen = (size_t)count };
    ssize_t sent = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0)
    {
        return sent;
    }
    return ac_connection_is_wait(errno) ? AC_CONNECTION_WAITS : -errno;
}

/* Let the kernel detect within about half a minute that a silent peer is gone. Fails for Unix sockets, which do not
 * need it. */
static inline void ac_connection_keep_alive(int fd)
{
    int one = 1, idle = 15, interval = 5, count = 3;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

#define AC_PEER_ANSWERS 0
#define AC_PEER_VANISHED -1

/* Shut a connection down if its peer has vanished: the kernel has repeated data for it, or probes of its closed window,
 * and nothing arrived from it for `timeout_ms`. The kernel itself would wait for about 15 minutes. TCP_USER_TIMEOUT is
 * no alternative: it also ends connections to peers that are alive and do not read.
 *
 * `since_ms` is the result of the last call for this connection, 0 at first. Return AC_PEER_VANISHED if it was shut
 * down, AC_PEER_ANSWERS if no answer is missing, else the time on the monotonic clock, at least 1, since which one has
 * been missing. The thread that uses the connection then finds its end.
 *
 * The kernel has the time of the last arrival, but an idle peer may have sent that long before the data: the time
 * begins with the first call that finds data without an acknowledgement. */
static inline int64_t ac_connection_end_if_vanished(int fd, int64_t timeout_ms, int64_t since_ms)
{
    struct tcp_info info = { .tcpi_state = 0 };
    socklen_t length = sizeof(info);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) < 0)
    {
        return AC_PEER_ANSWERS; /* closed, or no TCP socket */
    }
    /* An attempt to connect has a limit of its own, and nothing was received yet. */
    if (TCP_SYN_SENT == info.tcpi_state || TCP_SYN_RECV == info.tcpi_state)
    {
        return AC_PEER_ANSWERS;
    }
    if (0 == info.tcpi_unacked && 0 == info.tcpi_probes)
    {
        return AC_PEER_ANSWERS;
    }
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const int64_t now_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + 1;
    const int64_t waited_ms = since_ms > 0 ? now_ms - since_ms : 0;
    /* Received data that acknowledges nothing new leaves the time of the last acknowledgement as it is. */
    if (0 == waited_ms || info.tcpi_last_ack_recv < waited_ms || info.tcpi_last_data_recv < waited_ms)
    {
        return now_ms;
    }
    /* A probe counts when it is sent: of three, two were not answered. */
    if (waited_ms < timeout_ms || (info.tcpi_retransmits < 2 && info.tcpi_probes < 3))
    {
        return since_ms;
    }
    return 0 == shutdown(fd, SHUT_RDWR) ? AC_PEER_VANISHED : AC_PEER_ANSWERS;
}

/* Part of the descriptors that connections of peers may not use, as a divisor: without them the driver could not create
 * streams. Invented. */
#define AC_DESCRIPTOR_RESERVE 8
/* Time without accepting after files or memory ran out. Invented: that of the relay threads. */
#define AC_ACCEPT_PAUSE_NS 100000000LL

/* Return whether so few descriptors are left that the driver needs them itself. The kernel gives out the lowest free
 * number, so a high number shows that all lower ones are in use. */
static inline int ac_descriptor_is_reserved(int fd)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
    {
        return 0;
    }
    return (rlim_t)fd >= limit.rlim_cur - limit.rlim_cur / AC_DESCRIPTOR_RESERVE;
}

static inline int64_t ac_coarse_monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Return the accepted descriptor, -EAGAIN if no connection is waiting. Errors of the connection itself, listed in
 * accept(2), count as -EAGAIN: they are not a fault of the listener. If files or memory run out, the listener stays
 * readable: the thread then accepts nothing for a while, instead of failing in each duty cycle. */
static inline int ac_connection_accept(int fd, struct sockaddr_storage *name, socklen_t *name_length)
{
    /* Of the thread and not of the listener: what runs out is shared by all. 0 without a pause. */
    static _Thread_local int64_t paused_until_ns = 0;
    if (paused_until_ns != 0)
    {
        if (ac_coarse_monotonic_ns() < paused_until_ns)
        {
            return -EAGAIN;
        }
        paused_until_ns = 0;
    }
    *name_length = sizeof(*name);
    int accepted = accept4(fd, (struct sockaddr *)name, name_length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (accepted >= 0)
    {
        if (!ac_descriptor_is_reserved(accepted))
        {
            return accepted;
        }
        close(accepted);
        errno = EMFILE;
    }
    switch (errno)
    {
        case EAGAIN:
#if EAGAIN != EWOULDBLOCK
        case EWOULDBLOCK:
#endif
        case EINTR:
        case ECONNABORTED:
        case ENETDOWN:
        case EPROTO:
        case ENOPROTOOPT:
        case EHOSTDOWN:
        case ENONET:
        case EHOSTUNREACH:
        case EOPNOTSUPP:
        case ENETUNREACH:
            return -EAGAIN;
        case EMFILE:
        case ENFILE:
        case ENOBUFS:
        case ENOMEM:
            paused_until_ns = ac_coarse_monotonic_ns() + AC_ACCEPT_PAUSE_NS;
            return -errno;
        default:
            return -errno;
    }
}

/* Disable Nagle's algorithm: acknowledgements are small, and the peer waits for them. Fails for Unix sockets, which
 * do not need it. */
static inline void ac_connection_send_at_once(int fd)
{
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

/* Return a descriptor that is connecting, or -errno. */
static inline int ac_connection_connect(const struct sockaddr_storage *name, socklen_t name_length, int sndbuf, int rcvbuf)
{
    int fd = socket(name->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
    {
        return -errno;
    }
    if (sndbuf > 0)
    {
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &sndbuf, sizeof(sndbuf));
    }
    if (rcvbuf > 0)
    {
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof(rcvbuf));
    }
    ac_connection_send_at_once(fd);
    ac_connection_keep_alive(fd);
    if (connect(fd, (const struct sockaddr *)name, name_length) < 0 && EINPROGRESS != errno)
    {
        int code = errno;
        close(fd);
        return -code;
    }
    return fd;
}

/* Return 1 once connected, 0 while connecting, -errno if it failed. */
static inline int ac_connection_is_connected(int fd)
{
    struct pollfd watched = { .fd = fd, .events = POLLOUT };
    if (poll(&watched, 1, 0) <= 0)
    {
        return 0;
    }
    int code = 0;
    socklen_t length = sizeof(code);
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &length) < 0)
    {
        return -errno;
    }
    return 0 == code ? 1 : -code;
}

/* With `aborts`, discard the unsent data and send a reset. */
static inline void ac_connection_close(int fd, int aborts)
{
    if (aborts)
    {
        struct linger none = { .l_onoff = 1, .l_linger = 0 };
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
    }
    close(fd);
}

static inline void ac_connection_end(int fd) { shutdown(fd, SHUT_WR); }

#endif
