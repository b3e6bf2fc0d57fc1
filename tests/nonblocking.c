/* Run a command whose standard input and output do not wait, as ssh and some shells hand them over. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int stop_waiting(int descriptor)
{
    int flags = fcntl(descriptor, F_GETFL);

    return flags < 0 ? -1 : fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "Usage: nonblocking COMMAND [ARGUMENT]...\n");
        return 2;
    }
    if (stop_waiting(STDIN_FILENO) == 0 && stop_waiting(STDOUT_FILENO) == 0)
        execvp(argv[1], argv + 1);
    perror(argv[1]);
    return 1;
}
