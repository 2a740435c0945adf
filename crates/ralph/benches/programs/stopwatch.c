/* stopwatch LENGTH PROGRAM ARGS...: starts a program as the client starts a hook, again and again,
 * and takes the time of each.
 *
 * The first LENGTH bytes of standard input are what the program gets on its own; after them each
 * byte asks for one start. The answer is a line "NANOSECONDS EXIT-CODE SAID COMPLAINED", then so many bytes
 * of the program's output and of its errors (at most the first 64 KiB of each).
 *
 * In C, and one process for all starts, because of what it would cost otherwise: posix_spawn of
 * glibc resets every signal, one by one, before the exec, and a process that has only just
 * started runs into page faults of its own. Either nearly doubles the time of an empty program, and so
 * flatters every ratio to it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KEPT 65536

static char output[KEPT], errors[KEPT];

static void die(const char *what) {
    perror(what);
    exit(125);
}

static char *read_input(size_t length) {
    char *input = malloc(length + 1);
    if (!input)
        die("malloc");
    for (size_t got = 0; got < length;) {
        ssize_t n = read(0, input + got, length - got);
        if (n <= 0)
            die("read");
        got += (size_t)n;
    }
    return input;
}

/* Keeps the beginning, and reads on to the end: a full pipe would stop the program. */
static size_t drain(int from, char *into) {
    static char rest[KEPT];
    size_t length = 0;
    for (;;) {
        size_t room = KEPT - length;
        ssize_t n = read(from, room ? into + length : rest, room ? room : KEPT);
        if (n <= 0)
            return length;
        if (room)
            length += (size_t)n;
    }
}

/* An idle hook exits without reading; the broken pipe is no one's fault. */
static void feed(int to, const char *input, size_t length) {
    while (length > 0) {
        ssize_t n = write(to, input, length);
        if (n <= 0)
            return;
        input += n;
        length -= (size_t)n;
    }
}

static long long nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Nothing here may be a local of the function that calls vfork and change after it. */
static pid_t start(char **program, const int in[2], const int out[2], const int err[2]) {
    pid_t child = vfork();
    if (child == 0) {
        signal(SIGPIPE, SIG_DFL);
        dup2(in[0], 0);
        dup2(out[1], 1);
        dup2(err[1], 2);
        execv(program[0], program);
        _exit(127);
    }
    return child;
}

/* The wait for the next start lets the processor fall asleep and forget the kernel's ways; a client at
 * work is awake. */
static void wake_up(void) {
    for (int i = 0; i < 3; i++) {
        int status;
        pid_t child = vfork();
        if (child == 0)
            _exit(0);
        waitpid(child, &status, 0);
    }
}

static void sample(char **program, const char *input, size_t length) {
    int in[2], out[2], err[2], status;
    wake_up();
    long long began = nanoseconds();
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
        die("pipe2");
    pid_t child = start(program, in, out, err);
    if (child < 0)
        die("vfork");
    close(in[0]);
    close(out[1]);
    close(err[1]);
    feed(in[1], input, length);
    close(in[1]);
    size_t said = drain(out[0], output);
    size_t complained = drain(err[0], errors);
    if (waitpid(child, &status, 0) != child)
        die("waitpid");
    long long took = nanoseconds() - began;

    close(out[0]);
    close(err[0]);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    printf("%lld %d %zu %zu\n", took, code, said, complained);
    fwrite(output, 1, said, stdout);
    fwrite(errors, 1, complained, stdout);
    fflush(stdout);
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 125;
    size_t length = strtoul(argv[1], NULL, 10);
    char *input = read_input(length);
    signal(SIGPIPE, SIG_IGN);
    for (char go; read(0, &go, 1) == 1;)
        sample(argv + 2, input, length);
    return 0;
}
