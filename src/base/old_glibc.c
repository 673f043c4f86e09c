// What our libraries need of glibc and old releases of it do not have. Linked, hidden, into everything that a wheel
// holds (cmake/portable.cmake), and into nothing else: `make build` uses the system's own.
//
// A wheel is linked against glibc 2.17 (tools/old_glibc.py), from objects that were compiled for a newer one: ours, those of
// Debian's static LLVM and of GCC's libstdc++.a. Functions that merely moved between libraries or got a new version are
// found under their old name by the linker. These were new, and each has its release and who calls it:
//
//   __libc_single_threaded   2.32  shared_ptr and guards of statics in libstdc++: may a counter be changed without a lock?
//   pthread_cond_clockwait   2.30  condition_variable::wait_for and wait_until
//   arc4random, getentropy   2.36, 2.25  std::random_device
//   mallinfo2                2.33  llvm::sys::Process::GetMallocUsage
//   __cxa_thread_atexit_impl 2.18  destructors of thread_local variables
//
// Where the process has the real function that one is called, so that a new system loses nothing.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

// "Several threads may run", which is always safe: it only costs an atomic instruction.
HIDDEN extern char __libc_single_threaded;
char __libc_single_threaded = 0;

// The function `name` of the glibc in this process, or null where it has none. `cached` is looked up once.
static void* find_real(const char* name, _Atomic(void*)* cached) {
#ifdef TESSERA_PRETEND_OLD_GLIBC
  (void)name, (void)cached;
  return NULL;
#else
  static char none;
  void* found = atomic_load_explicit(cached, memory_order_acquire);
  if (found == NULL) {
    found = dlsym(RTLD_DEFAULT, name);
    if (found == NULL) found = &none;
    atomic_store_explicit(cached, found, memory_order_release);
  }
  return found == &none ? NULL : found;
#endif
}

// ---- waiting by a clock that nobody sets ----

// pthread_cond_timedwait knows only the clock of the condition variable, which libstdc++ leaves at CLOCK_REALTIME: what is left
// of the time by `clock` is added to now by that one. As libstdc++ before GCC 10 did, and as there, a wait may be
// too short or too long if someone sets the system's time meanwhile; callers of wait_for look at the clock again.
HIDDEN int pthread_cond_clockwait(pthread_cond_t* restrict cond, pthread_mutex_t* restrict mutex, clockid_t clock,
                                  const struct timespec* restrict until) {
  static _Atomic(void*) cached;
  void* real = find_real("pthread_cond_clockwait", &cached);
  if (real != NULL) {
    return (__extension__(int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*)) real)(
        cond, mutex, clock, until);
  }
  if (clock == CLOCK_REALTIME) return pthread_cond_timedwait(cond, mutex, until);
  struct timespec now, wall;
  if (clock_gettime(clock, &now) != 0 || clock_gettime(CLOCK_REALTIME, &wall) != 0) return EINVAL;
  // Seconds may be as many as there are (wait for ever); nanoseconds are below 10^9 each.
  long left = until->tv_nsec - now.tv_nsec + wall.tv_nsec;
  struct timespec limit = {.tv_sec = wall.tv_sec - now.tv_sec, .tv_nsec = (left + 1000000000) % 1000000000};
  limit.tv_sec += left < 0 ? -1 : left / 1000000000;
  if (__builtin_add_overflow(limit.tv_sec, until->tv_sec, &limit.tv_sec)) limit.tv_sec = INT64_MAX;
  return pthread_cond_timedwait(cond, mutex, &limit);
}

// ---- random bytes ----

HIDDEN int getentropy(void* buffer, size_t size) {
  uint8_t* next = buffer;
  uint8_t* end = next + size;
#ifdef SYS_getrandom
  while (next < end) {
    long got = syscall(SYS_getrandom, next, end - next, 0);
    if (got > 0) {
      next += got;
    } else if (got < 0 && errno != EINTR) {
      break;  // a kernel before 3.17
    }
  }
#endif
  if (next == end) return 0;
  int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  while (next < end) {
    ssize_t got = read(file, next, end - next);
    if (got > 0) {
      next += got;
    } else if (got == 0 || errno != EINTR) {
      break;
    }
  }
  close(file);
  return next == end ? 0 : -1;
}

HIDDEN uint32_t arc4random(void) {
  uint32_t out;
  if (getentropy(&out, sizeof(out)) != 0) abort();  // as glibc does: there is no worse number to give
  return out;
}

// ---- memory in use ----

// The old function counts in 32 bits and wraps beyond 4 GB, the new one does not.
HIDDEN struct mallinfo2 mallinfo2(void) {
  static _Atomic(void*) cached;
  void* real = find_real("mallinfo2", &cached);
  if (real != NULL) return (__extension__(struct mallinfo2(*)(void)) real)();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  struct mallinfo old = mallinfo();
#pragma GCC diagnostic pop
  return (struct mallinfo2){
      .arena = (unsigned)old.arena,
      .ordblks = (unsigned)old.ordblks,
      .smblks = (unsigned)old.smblks,
      .hblks = (unsigned)old.hblks,
      .hblkhd = (unsigned)old.hblkhd,
      .usmblks = (unsigned)old.usmblks,
      .fsmblks = (unsigned)old.fsmblks,
      .uordblks = (unsigned)old.uordblks,
      .fordblks = (unsigned)old.fordblks,
      .keepcost = (unsigned)old.keepcost,
  };
}

// ---- destructors of thread_local variables ----

typedef struct Destructor {
  void (*destroy)(void*);
  void* object;
  struct Destructor* earlier;
} Destructor;

static __thread Destructor* destructors;  // of this thread, the latest first
static pthread_key_t at_thread_exit;

static void run_destructors(void* unused) {
  (void)unused;
  while (destructors != NULL) {  // one may register another
    Destructor* last = destructors;
    destructors = last->earlier;
    last->destroy(last->object);
    free(last);
  }
}

static void run_main_threads_destructors(void) { run_destructors(NULL); }

static void prepare_thread_exit(void) {
  if (pthread_key_create(&at_thread_exit, run_destructors) != 0) abort();
  atexit(run_main_threads_destructors);  // keys have no say when the program ends
}

HIDDEN int __cxa_thread_atexit_impl(void (*destroy)(void*), void* object, void* library) {
  static _Atomic(void*) cached;
  void* real = find_real("__cxa_thread_atexit_impl", &cached);
  if (real != NULL) return (__extension__(int (*)(void (*)(void*), void*, void*)) real)(destroy, object, library);
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, prepare_thread_exit);
  Destructor* entry = malloc(sizeof(Destructor));
  if (entry == NULL) return -1;
  *entry = (Destructor){destroy, object, destructors};
  destructors = entry;
  return pthread_setspecific(at_thread_exit, entry);  // any value but null has the key's function called
}
