// SPDX-License-Identifier: Apache-2.0
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

#include "runtime/device/cuda_context.hpp"

// 77 tells ctest that the tests were skipped.
int main(int argc, char** argv) {
    if (lockstep::device::visible_gpus() == 0) {
        std::puts("skipped: no GPU is visible");
        return 77;
    }
    return doctest::Context(argc, argv).run();
}
