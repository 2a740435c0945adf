/* launch REPORT PROGRAM ARGS...: runs a program and writes its peak memory, in KiB, to REPORT.
 *
 * A child's peak starts at the size of the process that forked it, so the caller has to be as
 * small as this one: a test runner's own megabytes would hide those of a hook. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc < 3)
        return 125;
    pid_t child = fork();
    if (child < 0)
        return 125;
    if (child == 0) {
        execv(argv[2], argv + 2);
        _exit(127);
    }
    int status;
    struct rusage usage;
    if (wait4(child, &status, 0, &usage) != child)
        return 125;
    char line[32];
    int length = snprintf(line, sizeof line, "%ld\n", usage.ru_maxrss);
    int report = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (report < 0 || write(report, line, length) != length)
        return 125;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
