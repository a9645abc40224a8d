/*
 * Limits of stream sockets: two processes that send bytes without frames.
 *
 *     streams tcp|unix stream LENGTH SECONDS     one direction, LENGTH bytes with each call
 *     streams tcp|unix echo LENGTH SECONDS       LENGTH bytes there and back at a time; both ends spin
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"

#define MAX_LENGTH (1L * 1024 * 1024)
#define MAX_TRIPS 4000000

/* Connect two sockets over TCP. */
static void tcp_pair(int fds[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    const int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    REQUIRE(listener >= 0 && bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 1) == 0);
    REQUIRE(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
    fds[0] = socket(AF_INET, SOCK_STREAM, 0);
    REQUIRE(fds[0] >= 0 && connect(fds[0], (struct sockaddr *)&address, size) == 0);
    fds[1] = accept(listener, NULL, NULL);
    REQUIRE(fds[1] >= 0);
    for (int i = 0; i < 2; i++)
        setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    close(listener);
}

/* Receive exactly `length` bytes, spinning; return 0 if the other end has closed. */
static int receive_all(int fd, char *buffer, long length)
{
    for (long done = 0; done < length;) {
        const ssize_t count = recv(fd, buffer + done, length - done, MSG_DONTWAIT);
        if (count == 0)
            return 0;
        if (count < 0)
            REQUIRE(errno == EAGAIN);
        else
            done += count;
    }
    return 1;
}

static void send_all(int fd, const char *buffer, long length)
{
    for (long done = 0; done < length;) {
        const ssize_t count = send(fd, buffer + done, length - done, MSG_NOSIGNAL);
        REQUIRE(count > 0);
        done += count;
    }
}

static void echo(int fd, char *buffer, long length, double seconds)
{
    int64_t *times = malloc(MAX_TRIPS * sizeof *times);
    size_t count = 0;
    REQUIRE(times != NULL);
    const int64_t warm = now_ns() + (int64_t)(seconds * 5e8), end = warm + (int64_t)(seconds * 1e9);
    /* At least one, however long the process has waited for a processor. */
    for (int64_t sent = now_ns(); (sent < end || count == 0) && count < MAX_TRIPS; sent = now_ns()) {
        send_all(fd, buffer, length);
        REQUIRE(receive_all(fd, buffer, length));
        if (sent >= warm)
            times[count++] = now_ns() - sent;
    }
    print_round_trips(times, count);
}

static void stream(int fd, char *buffer, long length, double seconds)
{
    double sent = 0;
    int64_t start = 0;
    const int64_t warm = now_ns() + (int64_t)(seconds * 5e8), end = warm + (int64_t)(seconds * 1e9);
    for (int64_t now = now_ns(); now < end; now = now_ns()) {
        if (!start && now >= warm) {
            start = now;
            sent = 0;
        }
        send_all(fd, buffer, length);
        sent += length;
    }
    REQUIRE(start != 0);
    print_rate(sent, length, now_ns() - start);
}

static void serve(int fd, char *buffer, long length, int is_echo)
{
    if (is_echo) {
        while (receive_all(fd, buffer, length))
            send_all(fd, buffer, length);
    } else {
        while (recv(fd, buffer, MAX_LENGTH, 0) > 0)
            continue;
    }
}

int main(int argc, char **argv)
{
    if (argc != 5 || (strcmp(argv[1], "tcp") && strcmp(argv[1], "unix")) ||
        (strcmp(argv[2], "stream") && strcmp(argv[2], "echo"))) {
        fprintf(stderr, "usage: streams tcp|unix stream|echo LENGTH SECONDS\n");
        return 2;
    }
    const int is_echo = strcmp(argv[2], "echo") == 0;
    const long length = length_of(argv[3], 1, MAX_LENGTH);
    const double seconds = seconds_of(argv[4]);
    char *buffer = calloc(1, MAX_LENGTH);
    int fds[2];
    REQUIRE(buffer != NULL);
    if (strcmp(argv[1], "tcp") == 0)
        tcp_pair(fds);
    else
        REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(fds[0]);
        serve(fds[1], buffer, length, is_echo);
        _exit(0);
    }
    close(fds[1]);
    if (is_echo)
        echo(fds[0], buffer, length, seconds);
    else
        stream(fds[0], buffer, length, seconds);
    close(fds[0]);
    waitpid(child, NULL, 0);
    return 0;
}
