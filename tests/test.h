/* test.h: how a test is written. Include it in any tests/unit/NAME.c; the test registers itself.
 *
 *     TEST(map_keeps_all_keys) { CHECK_EQ(map.n, 100000); }
 *
 * Each test runs in a child process of its own: it may crash, leak or hang without harm to others. A
 * failed check prints file, line and values and ends the test there. Helpers may use the checks too. */
#ifndef RIDGE_TEST_H
#define RIDGE_TEST_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct test {
    const char *name, *file;
    int line, seconds; /* time limit */
    double cost;       /* seconds that it is known to take; 0: few, or unknown */
    bool manual;       /* runs only with -a */
    bool alone;        /* nothing else runs beside it */
    void (*fn)(void);
    struct test *next;
};
void test_add(struct test *);
_Noreturn void test_fail(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void test_skip(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void test_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#define TEST_DEFINE_(id, secs, only_asked, by_itself)                                                     \
    static void test_##id(void);                                                                          \
    static struct test test_##id##_entry = {.name = #id,                                                  \
                                            .file = __FILE__,                                             \
                                            .line = __LINE__,                                             \
                                            .seconds = secs,                                              \
                                            .manual = only_asked,                                         \
                                            .alone = by_itself,                                           \
                                            .fn = test_##id};                                             \
    __attribute__((constructor)) static void test_##id##_register(void) { test_add(&test_##id##_entry); } \
    static void test_##id(void)

/* A test; the name begins with its subject, which is what `ridge-test SUBSTRING` selects by. */
#define TEST(id) TEST_DEFINE_(id, 120, false, false)
/* One that may take up to `secs` seconds. */
#define TEST_SLOW(id, secs) TEST_DEFINE_(id, secs, false, false)
/* One that runs only with -a: exhaustive sweeps (`make test-math`), long fuzzers (`make fuzz`). */
#define TEST_MANUAL(id, secs) TEST_DEFINE_(id, secs, true, false)
/* The same, with nothing else beside it. */
#define TEST_ALONE(id, secs) TEST_DEFINE_(id, secs, true, true)

#define FAIL(...) test_fail(__FILE__, __LINE__, __VA_ARGS__)
/* Ends the test without a verdict; say what is missing. */
#define SKIP(...) test_skip(__VA_ARGS__)
/* CUDA does not open. Without a driver or a GPU there is nothing to test; a GPU that is there fails the test. */
static inline bool cuda_is_missing(const char *why) {
    return strstr(why, "there is no NVIDIA driver") || strstr(why, "the NVIDIA driver finds no GPU");
}
#define NO_CUDA(why) (cuda_is_missing(why) ? SKIP("%s", why) : FAIL("%s", why))
/* OpenCL does not open: the same. */
static inline bool opencl_is_missing(const char *why) {
    return strstr(why, "there is no OpenCL on this machine") || strstr(why, "finds no OpenCL driver") ||
           strstr(why, " and no device; is the driver installed");
}
#define NO_OPENCL(why) (opencl_is_missing(why) ? SKIP("%s", why) : FAIL("%s", why))
/* A line for the summary of the whole run: what was covered, by the number. */
#define TEST_INFO(...) test_info(__VA_ARGS__)
#define TEST_COUNT(n, what) test_info("%lld %s", (long long)(n), (what))

#define CHECK(cond) ((cond) ? (void)0 : FAIL("%s is false", #cond))
#define CHECK_EQ(a, b)                                                                     \
    do {                                                                                   \
        int64_t a_ = (int64_t)(a), b_ = (int64_t)(b);                                      \
        if (a_ != b_) FAIL("%s is %lld, expected %lld", #a, (long long)a_, (long long)b_); \
    } while (0)
#define CHECK_STR(a, b)                                                                  \
    do {                                                                                 \
        const char *s_ = (a), *t_ = (b);                                                 \
        if (!s_ || !t_ ? s_ != t_ : strcmp(s_, t_) != 0)                                 \
            FAIL("%s is\n  %s\nexpected\n  %s", #a, s_ ? s_ : "NULL", t_ ? t_ : "NULL"); \
    } while (0)
/* |a - b| <= tol; two NaNs are near, a NaN and a number are not. */
#define CHECK_NEAR(a, b, tol)                                                        \
    do {                                                                             \
        double a_ = (a), b_ = (b), tol_ = (tol);                                     \
        bool same_ = a_ == b_ || (isnan(a_) && isnan(b_)) || fabs(a_ - b_) <= tol_;  \
        if (!same_) FAIL("%s is %.17g, expected %.17g within %g", #a, a_, b_, tol_); \
    } while (0)

#endif
