/* Removing temporary files however the program ends. A list holds the files, and folders behind what is in
   them; a signal's handler and an exit handler remove what is on it. The handler may take no lock, so an
   atomic state says who may touch the list: threads block all signals, take a mutex among themselves, and set
   BUSY; the handler waits until the state is OPEN, and since no thread is interrupted while BUSY, that comes
   soon. Once files are being removed, no thread gets in any more: what it would make would stay. */
#include "temp_cleanup.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Who may touch the list. */
enum state { OPEN, BUSY, REMOVING, REMOVED };

/* The handler, and whoever calls exit, have no other way to reach them. */
static atomic_int state = OPEN;
static struct temp_file *first;

/* Milliseconds between the removal and the end. */
static int lingering;

/* Threads take turns; the handler does not. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static bool change(int from, int to)
{
    return atomic_compare_exchange_strong(&state, &from, to);
}

/* Async-signal-safe. */
static void wait_a_little(void)
{
    poll(NULL, 0, 1);
}

static void block_signals(sigset_t *before)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, before);
}

void temp_cleanup_hold_signals(sigset_t *before)
{
    block_signals(before);
    pthread_mutex_lock(&turn);
    /* The program is about to end, and whatever were made now would stay. */
    while (!change(OPEN, BUSY))
        wait_a_little();
}

void temp_cleanup_release_signals(const sigset_t *before)
{
    atomic_store(&state, OPEN);
    pthread_mutex_unlock(&turn);
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

void temp_cleanup_add(struct temp_file *file)
{
    file->next = first;
    first = file;
}

void temp_cleanup_forget(struct temp_file *file)
{
    struct temp_file **link = &first;

    while (*link != file)
        link = &(*link)->next;
    *link = file->next;
}

size_t temp_cleanup_list(char *paths, size_t room, size_t *count)
{
    size_t bytes = 0;

    *count = 0;
    for (const struct temp_file *file = first; file != NULL; file = file->next) {
        size_t size = strlen(file->path) + 1;
        if (room >= bytes + size)
            memcpy(paths + bytes, file->path, size);
        bytes += size;
        ++*count;
    }
    return bytes;
}

/* Async-signal-safe. */
void temp_cleanup_remove(const char *path)
{
    if (unlink(path) != 0)
        rmdir(path);
}

/* Once; another thread that comes here waits until it is done. */
static void remove_all(void)
{
    while (!change(OPEN, REMOVING)) {
        if (atomic_load(&state) == REMOVED)
            return;
        wait_a_little();
    }
    for (const struct temp_file *file = first; file != NULL; file = file->next)
        temp_cleanup_remove(file->path);
    atomic_store(&state, REMOVED);
}

static void end_by_signal(int signal_number)
{
    remove_all();
    poll(NULL, 0, lingering);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* No signal may come while this thread removes: its handler would wait for it. */
static void end_by_exit(void)
{
    sigset_t before;

    block_signals(&before);
    remove_all();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void temp_cleanup_linger(unsigned milliseconds)
{
    lingering = (int)milliseconds;
}

void temp_cleanup_open(void)
{
    static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGXCPU, SIGXFSZ};
    struct sigaction action = {.sa_handler = end_by_signal};

    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction before;
        /* Signals that the parent chose to ignore (nohup) stay ignored. */
        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
    /* A library that ends the program does so by exit. */
    atexit(end_by_exit);
}
