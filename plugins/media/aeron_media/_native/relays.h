/* Hands descriptors from thread to thread over a SOCK_SEQPACKET socket, with the address of the peer each belongs to.
 * Descriptors travel as SCM_RIGHTS: those that nobody has taken are closed with the socket. What an agent asks for is
 * followed by the inode of its own end, and what it aborts is that inode alone. Results below 0 are -errno. */
#ifndef AERON_CORE_RELAYS_H
#define AERON_CORE_RELAYS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

typedef union
{
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
}
ac_relay_rights_t;

#define AC_RELAY_ABORTED -100001 /* no errno is as low */

static inline uint64_t ac_relay_inode(int fd)
{
    struct stat state;
    return fstat(fd, &state) < 0 ? 0 : (uint64_t)state.st_ino;
}

/* 1, or -EAGAIN where there is no room; the giver keeps its descriptor. An inode of 0 is left out. */
static inline int ac_relay_give_with(
    int control, int fd, const struct sockaddr_storage *name, socklen_t name_length, uint64_t inode)
{
    ac_relay_rights_t rights;
    memset(&rights, 0, sizeof(rights));
    struct iovec body[2] = { { .iov_base = (void *)name, .iov_len = name_length },
        { .iov_base = &inode, .iov_len = 0 != inode ? sizeof(inode) : 0 } };
    struct msghdr message = { .msg_iov = body, .msg_iovlen = 2, .msg_control = &rights,
        .msg_controllen = sizeof(rights) };
    rights.header.cmsg_level = SOL_SOCKET;
    rights.header.cmsg_type = SCM_RIGHTS;
    rights.header.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&rights.header), &fd, sizeof(int));
    if (sendmsg(control, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
    {
        return 1;
    }
    return EWOULDBLOCK == errno || EINTR == errno ? -EAGAIN : -errno;
}

static inline int ac_relay_give(int control, int fd, const struct sockaddr_storage *name, socklen_t name_length)
{
    return ac_relay_give_with(control, fd, name, name_length, 0);
}

/* The next descriptor; -EAGAIN where none waits, -EPIPE where none will come. */
static inline int ac_relay_take(int control, struct sockaddr_storage *name, socklen_t *name_length)
{
    ac_relay_rights_t rights;
    struct iovec body = { .iov_base = name, .iov_len = sizeof(*name) };
    struct msghdr message = { .msg_iov = &body, .msg_iovlen = 1, .msg_control = &rights,
        .msg_controllen = sizeof(rights) };
    ssize_t received = recvmsg(control, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (received < 0)
    {
        return EWOULDBLOCK == errno || EINTR == errno ? -EAGAIN : -errno;
    }
    if (0 == received)
    {
        return -EPIPE;
    }
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (NULL == header || SCM_RIGHTS != header->cmsg_type || CMSG_LEN(sizeof(int)) != header->cmsg_len)
    {
        /* This process may have no more of them open. */
        return -EMFILE;
    }
    int fd;
    memcpy(&fd, CMSG_DATA(header), sizeof(int));
    *name_length = (socklen_t)received;
    return fd;
}

/* The same for what an agent says: with the inode of its end, or AC_RELAY_ABORTED for the inode of one that it aborts. */
static inline int ac_relay_take_any(
    int control, struct sockaddr_storage *name, socklen_t *name_length, uint64_t *inode)
{
    char said[sizeof(*inode) + 1];
    ssize_t received = recv(control, said, sizeof(said), MSG_DONTWAIT | MSG_PEEK);
    if (sizeof(*inode) == received)
    {
        recv(control, inode, sizeof(*inode), MSG_DONTWAIT);
        return AC_RELAY_ABORTED;
    }
    int fd = ac_relay_take(control, name, name_length);
    if (fd >= 0 && *name_length >= sizeof(*inode))
    {
        *name_length -= (socklen_t)sizeof(*inode);
        memcpy(inode, (char *)name + *name_length, sizeof(*inode));
    }
    return fd;
}

/* 1, or -errno where that could not be said. */
static inline int ac_relay_abort(int control, int fd)
{
    uint64_t inode = ac_relay_inode(fd);
    return send(control, &inode, sizeof(inode), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ? 1 : -errno;
}

/* One end of a new pair of sockets, of which the other was given away. */
static inline int ac_relay_ask(int control, const struct sockaddr_storage *name, socklen_t name_length)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
    {
        return -errno;
    }
    int result = ac_relay_give_with(control, ends[1], name, name_length, ac_relay_inode(ends[0]));
    close(ends[1]);
    if (result < 0)
    {
        close(ends[0]);
        return result;
    }
    return ends[0];
}

/* Whether the other end is closed, not just ended. */
static inline int ac_relay_is_cut(int fd)
{
    struct pollfd watched = { .fd = fd, .events = 0 };
    return poll(&watched, 1, 0) > 0 && 0 != (watched.revents & (POLLHUP | POLLERR));
}

#endif
