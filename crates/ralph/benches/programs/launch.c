/* launch REPORT PROGRAM ARGS...: runs a program and writes the most memory that it had, in KiB, to REPORT.
 *
 * What wait4 reports is not exact: the kernel counts pages in batches on each processor, and a small program can be off by a
 * fifth. So the program is held at its end, while its memory is still there. `Rss` is what its page tables hold then,
 * `VmHWM` its peak, which the kernel rounds down in some versions; the larger of the two counts. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static long kib(pid_t child, const char *file, const char *member) {
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/%s", child, file);
    FILE *text = fopen(path, "r");
    long found = -1;
    while (text && found < 0 && fgets(line, sizeof line, text))
        if (strncmp(line, member, strlen(member)) == 0)
            found = atol(line + strlen(member));
    if (text)
        fclose(text);
    return found;
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 125;
    pid_t child = fork();
    if (child < 0)
        return 125;
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        execv(argv[2], argv + 2);
        _exit(127);
    }
    long most = -1;
    int status;
    for (;;) {
        if (waitpid(child, &status, 0) != child)
            return 125;
        if (!WIFSTOPPED(status))
            break;
        int signal = WSTOPSIG(status), event = status >> 16;
        if (event == PTRACE_EVENT_EXIT) {
            long rss = kib(child, "smaps_rollup", "Rss:"), peak = kib(child, "status", "VmHWM:");
            most = rss > peak ? rss : peak;
        } else if (signal == SIGTRAP) {
            /* It has become the program. */
            ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACEEXIT);
        }
        ptrace(PTRACE_CONT, child, 0, signal == SIGTRAP ? 0 : signal);
    }
    char line[64];
    int length = snprintf(line, sizeof line, "%ld\n", most);
    int report = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (most < 0 || report < 0 || write(report, line, length) != length)
        return 125;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
