// cmocka set-up shared by unit tests: every test is a leak test. Use FZ_TEST(fn) in the test table and fz_leak_group_run to run it.
#ifndef FZ_TEST_LEAK_CHECK_H
#define FZ_TEST_LEAK_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"

static int64_t fz_test_live_before;
static inline int fz_test_begin(void **state) {
    (void)state;
    fz_test_live_before = fz_mem_live_allocations();
    return 0;
}
static inline int fz_test_end(void **state) {
    (void)state;
    int64_t leaked = fz_mem_live_allocations() - fz_test_live_before;
    if (leaked != 0) {
        print_error("%lld allocations leaked\n", (long long)leaked);
        return -1;
    }
    return 0;
}
#define FZ_TEST(fn) cmocka_unit_test_setup_teardown(fn, fz_test_begin, fz_test_end)
// Fails the test with the error's text when `call` is not OK.
#define FZ_OK_OR_FAIL(call, errp)                                                                                      \
    do {                                                                                                               \
        if ((call) != FZ_OK) {                                                                                         \
            print_error("%s [%s] %s\n", fz_code_name((errp)->code), (errp)->condition, (errp)->message);               \
            fail();                                                                                                    \
        }                                                                                                              \
    } while (0)

#endif
