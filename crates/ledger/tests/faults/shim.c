/* Stands between a program and the C library (LD_PRELOAD) and makes the n-th change of a file in a folder go wrong.
 *
 * FAULT_FOLDER  the folder; changes elsewhere are not counted
 * FAULT_AT      which change, counted from 1
 * FAULT_KIND    kill-before, kill-after, torn (half of a write, then the end), short (half of a write, and it says so),
 *               eio, enospc: this change fails; eio-on, enospc-on: this and all later ones fail
 * FAULT_MARK    a file that is made when the fault happens
 * FAULT_CLOCK   seconds by which the wall clock is off
 * FAULT_TRACE   a file to which every change in the folder, and every line on standard output, is appended:
 *               operation, path, offset and length with tabs between, a line feed, and the bytes that were written
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long counted;

enum verdict { PASS, FAIL, HALF, HALF_AND_END, PASS_AND_END };

static int in_folder(const char *path) {
    const char *folder = getenv("FAULT_FOLDER");
    return folder && strncmp(path, folder, strlen(folder)) == 0;
}

static const char *path_of(int descriptor) {
    static char path[4096];
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length < 0 ? 0 : length] = 0;
    return path;
}

static int descriptor_in_folder(int descriptor) { return in_folder(path_of(descriptor)); }

/* Appends to the trace, by system calls that do not come back here. */
static void trace(const char *operation, const char *path, long offset, size_t length, const void *bytes) {
    const char *file_name = getenv("FAULT_TRACE");
    if (!file_name) return;
    char line[5000];
    int head = snprintf(line, sizeof line, "%s\t%s\t%ld\t%zu\n", operation, path, offset, length);
    int file = syscall(SYS_open, file_name, O_WRONLY | O_CREAT | O_APPEND, 0600);
    syscall(SYS_write, file, line, head);
    if (bytes) syscall(SYS_write, file, bytes, length);
    close(file);
}

static void end(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

/* What is to happen to the change that is about to be made. */
static enum verdict judge(int is_write) {
    const char *at = getenv("FAULT_AT"), *kind = getenv("FAULT_KIND"), *mark = getenv("FAULT_MARK");
    if (!at || !kind) return PASS;
    counted++;
    size_t length = strlen(kind);
    int goes_on = length > 3 && strcmp(kind + length - 3, "-on") == 0;
    if (goes_on ? counted < atol(at) : counted != atol(at)) return PASS;
    if (mark) close(creat(mark, 0600));
    if (strcmp(kind, "kill-before") == 0) end();
    if (strcmp(kind, "kill-after") == 0) return PASS_AND_END;
    if (strcmp(kind, "torn") == 0) {
        if (!is_write) end();
        return HALF_AND_END;
    }
    if (strcmp(kind, "short") == 0) return is_write ? HALF : PASS;
    errno = strncmp(kind, "enospc", 6) == 0 ? ENOSPC : EIO;
    return FAIL;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define AROUND(condition, operation, path, length, call)          \
    do {                                                          \
        if (!(condition)) return call;                            \
        enum verdict verdict = judge(0);                          \
        if (verdict == FAIL) return -1;                           \
        __typeof__(call) result = call;                           \
        if (result >= 0) trace(operation, path, 0, length, 0);    \
        if (verdict == PASS_AND_END) end();                       \
        return result;                                            \
    } while (0)

#define AROUND_WRITE(at, whole, half)                             \
    do {                                                          \
        if (descriptor == 1) trace("say", "", 0, length, bytes);  \
        if (!descriptor_in_folder(descriptor)) return whole;      \
        trace("write", path_of(descriptor), at, length, bytes);   \
        enum verdict verdict = judge(1);                          \
        if (verdict == FAIL) return -1;                           \
        ssize_t result = verdict == HALF || verdict == HALF_AND_END ? half : whole; \
        if (verdict == HALF_AND_END || verdict == PASS_AND_END) end();              \
        return result;                                            \
    } while (0)

ssize_t write(int descriptor, const void *bytes, size_t length) {
    AROUND_WRITE(lseek(descriptor, 0, SEEK_CUR), REAL(write)(descriptor, bytes, length), REAL(write)(descriptor, bytes, (length + 1) / 2));
}

ssize_t pwrite(int descriptor, const void *bytes, size_t length, off_t offset) {
    AROUND_WRITE(offset, REAL(pwrite)(descriptor, bytes, length, offset), REAL(pwrite)(descriptor, bytes, (length + 1) / 2, offset));
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t length, off64_t offset) {
    AROUND_WRITE(offset, REAL(pwrite64)(descriptor, bytes, length, offset), REAL(pwrite64)(descriptor, bytes, (length + 1) / 2, offset));
}

int fsync(int descriptor) { AROUND(descriptor_in_folder(descriptor), "sync", path_of(descriptor), 0, REAL(fsync)(descriptor)); }

int fdatasync(int descriptor) { AROUND(descriptor_in_folder(descriptor), "sync", path_of(descriptor), 0, REAL(fdatasync)(descriptor)); }

int ftruncate(int descriptor, off_t length) { AROUND(descriptor_in_folder(descriptor), "truncate", path_of(descriptor), length, REAL(ftruncate)(descriptor, length)); }

int ftruncate64(int descriptor, off64_t length) { AROUND(descriptor_in_folder(descriptor), "truncate", path_of(descriptor), length, REAL(ftruncate64)(descriptor, length)); }

int unlink(const char *path) { AROUND(in_folder(path), "unlink", path, 0, REAL(unlink)(path)); }

/* Only what makes a file is a change. */
int open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    AROUND((flags & O_CREAT) && in_folder(path), "create", path, 0, REAL(open)(path, flags, mode));
}

int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    AROUND((flags & O_CREAT) && in_folder(path), "create", path, 0, REAL(open64)(path, flags, mode));
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = REAL(clock_gettime)(clock, now);
    const char *shift = getenv("FAULT_CLOCK");
    if (result == 0 && clock == CLOCK_REALTIME && shift) now->tv_sec += atoll(shift);
    return result;
}
