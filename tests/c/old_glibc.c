/* What src/base/old_glibc.c does where glibc has no such functions: the calls below are to the definitions in that file. */
#define TESSERA_PRETEND_OLD_GLIBC 1
#include "../../src/base/old_glibc.c"

#include <stdio.h>

#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                        \
    }                                                                 \
  } while (0)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int signalled = 0;

static int64_t nanoseconds(const struct timespec* t) { return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec; }

static struct timespec in_nanoseconds(clockid_t clock, int64_t left) {
  struct timespec t;
  clock_gettime(clock, &t);
  left += nanoseconds(&t);
  t.tv_sec = left / 1000000000;
  t.tv_nsec = left % 1000000000;
  return t;
}

static void a_wait_by_the_monotonic_clock_ends_in_time(void) {
  struct timespec before, after, until = in_nanoseconds(CLOCK_MONOTONIC, 30000000);
  clock_gettime(CLOCK_MONOTONIC, &before);
  CHECK(pthread_mutex_lock(&mutex) == 0);
  CHECK(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &until) == ETIMEDOUT);
  CHECK(pthread_mutex_unlock(&mutex) == 0);
  clock_gettime(CLOCK_MONOTONIC, &after);
  CHECK(nanoseconds(&after) - nanoseconds(&before) >= 29000000);
}

static void a_time_that_has_passed_ends_a_wait_at_once(void) {
  struct timespec until = {0, 0};
  CHECK(pthread_mutex_lock(&mutex) == 0);
  CHECK(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &until) == ETIMEDOUT);
  CHECK(pthread_cond_clockwait(&cond, &mutex, CLOCK_REALTIME, &until) == ETIMEDOUT);
  CHECK(pthread_mutex_unlock(&mutex) == 0);
}

static void* signal_it(void* unused) {
  (void)unused;
  pthread_mutex_lock(&mutex);
  signalled = 1;
  pthread_cond_signal(&cond);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static void a_signal_ends_a_wait_for_ever(void) {
  pthread_t thread;
  struct timespec until = {INT64_MAX, 999999999};
  CHECK(pthread_mutex_lock(&mutex) == 0);
  CHECK(pthread_create(&thread, NULL, signal_it, NULL) == 0);
  while (!signalled) CHECK(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &until) == 0);
  CHECK(pthread_mutex_unlock(&mutex) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
}

static void random_bytes_differ(void) {
  uint8_t a[64] = {0}, b[64] = {0};
  int i, equal = 0;
  CHECK(getentropy(a, sizeof(a)) == 0 && getentropy(b, sizeof(b)) == 0);
  for (i = 0; i < 64; ++i) equal += a[i] == b[i];
  CHECK(equal < 32);
  CHECK(arc4random() != arc4random() || arc4random() != arc4random());
}

static void memory_in_use_is_counted(void) {
  void* block = malloc(50000);
  size_t with = mallinfo2().uordblks;
  CHECK(block != NULL && with >= 50000);
  free(block);
  CHECK(mallinfo2().uordblks + 50000 <= with);
}

static char order[8];
static int count = 0;

static void note(void* letter) {
  order[count++] = *(char*)letter;
  if (*(char*)letter == 'c') __cxa_thread_atexit_impl(note, "d", NULL);
}

static void* register_three(void* unused) {
  (void)unused;
  __cxa_thread_atexit_impl(note, "a", NULL);
  __cxa_thread_atexit_impl(note, "b", NULL);
  __cxa_thread_atexit_impl(note, "c", NULL);
  return NULL;
}

static void destructors_of_a_thread_run_when_it_ends_the_latest_first(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, register_three, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(count == 4 && order[0] == 'c' && order[1] == 'd' && order[2] == 'b' && order[3] == 'a');
}

int main(void) {
  a_wait_by_the_monotonic_clock_ends_in_time();
  a_time_that_has_passed_ends_a_wait_at_once();
  a_signal_ends_a_wait_for_ever();
  random_bytes_differ();
  memory_in_use_is_counted();
  destructors_of_a_thread_run_when_it_ends_the_latest_first();
  return 0;
}
