// SPDX-License-Identifier: Apache-2.0
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

#include "runtime/device/cuda/cuda_context.hpp"
#include "runtime/device/cuda/cuda_devices.hpp"

// The exit code 77 tells ctest that the tests were skipped.
int main(int argc, char** argv) {
    if (lockstep::device::visible_gpus() == 0) {
        std::printf("skipped: %s\n", lockstep::device::why_no_gpu().c_str());
        return 77;
    }
    return doctest::Context(argc, argv).run();
}
