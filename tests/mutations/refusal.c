// Refuses allocations of a program that replaces malloc by one that calls the GNU C library's (__libc_malloc and its kin),
// from the start of its `main` on: the one whose number is REFUSED_ALLOCATION, and where REFUSED_ALLOCATIONS says `later`,
// all that follow it. Loaded before all other libraries.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static atomic_ulong allocations;
static unsigned long first_refused;
static int refuses_later;
static atomic_int is_armed;

static int is_refused(void) {
    if (!is_armed) return 0;
    unsigned long number = atomic_fetch_add(&allocations, 1) + 1;
    int refused = number == first_refused || (refuses_later && number > first_refused);
    if (refused) errno = ENOMEM;
    return refused;
}

#define NEXT(name, ...)                                            \
    static __typeof__(name) *next;                                 \
    if (next == NULL) next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name); \
    return is_refused() ? NULL : next(__VA_ARGS__)

void *__libc_malloc(size_t bytes) { NEXT(__libc_malloc, bytes); }

void *__libc_calloc(size_t count, size_t bytes) { NEXT(__libc_calloc, count, bytes); }

void *__libc_realloc(void *memory, size_t bytes) { NEXT(__libc_realloc, memory, bytes); }

void *__libc_memalign(size_t alignment, size_t bytes) { NEXT(__libc_memalign, alignment, bytes); }

typedef int (*main_function)(int, char **, char **);
typedef int (*start_function)(main_function, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);

static main_function program;

static int armed_main(int count, char **arguments, char **environment) {
    const char *number = getenv("REFUSED_ALLOCATION");
    const char *which = getenv("REFUSED_ALLOCATIONS");
    first_refused = number ? strtoul(number, NULL, 10) : 0;
    refuses_later = which && strcmp(which, "later") == 0;
    is_armed = first_refused != 0;
    return program(count, arguments, environment);
}

int __libc_start_main(main_function main, int count, char **arguments, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end) {
    program = main;
    start_function start = (start_function)dlsym(RTLD_NEXT, "__libc_start_main");
    return start(armed_main, count, arguments, init, fini, rtld_fini, stack_end);
}
