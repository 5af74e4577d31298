// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda_library.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace lockstep;

TEST_CASE("a library's functions are found by name, and what is missing is named") {
    const device::CudaLibrary math({"libno_such.so.2", "libm.so.6"});
    CHECK(math.file() == "libm.so.6");
    CHECK(math.function<double(double)>("fabs")(-3.0) == 3.0);
    try {
        (void)math.function<void()>("no_such_function");
        FAIL("found");
    } catch (const Error& error) {
        CHECK(std::string(error.what()).find("libm.so.6 has no no_such_function") == 0);
    }
    try {
        const device::CudaLibrary missing({"libno_such.so.2", "libno_such.so.1"});
        FAIL("opened");
    } catch (const Error& error) {
        CHECK(std::string(error.what()).find("GPUs need libno_such.so.2 or libno_such.so.1, ") ==
              0);
        CHECK(error.kind() == ErrorKind::cuda);
    }
}
