// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda_versions.hpp"

#include <doctest/doctest.h>

using namespace lockstep::device;

TEST_CASE("a driver serves every CUDA of its own major version and of those before") {
    const CudaBuild old{12040, "80"}, recent{13000, "80"};
    CHECK(why_driver_is_too_old(old, 12000).empty());
    CHECK(why_driver_is_too_old(old, 12020).empty());
    CHECK(why_driver_is_too_old(old, 13000).empty());
    CHECK(why_driver_is_too_old(recent, 13000).empty());
    CHECK(why_driver_is_too_old(recent, 12080).find("driver 580") != std::string::npos);
    CHECK(why_driver_is_too_old(old, 11080).find("serves CUDA 11.8 at most") != std::string::npos);
    // A build with CUDA 11 does not exist, so the message must not advise one.
    CHECK(why_driver_is_too_old(old, 11080).ends_with(": install driver 525 or newer"));
    CHECK(why_driver_is_too_old(recent, 11080).ends_with(": install driver 580 or newer"));
    CHECK(why_driver_is_too_old(recent, 12080).ends_with(", or take a build with CUDA 12"));
}

TEST_CASE("machine code runs on its major version, PTX on all that is newer") {
    const auto runs = [](const std::string& targets, int capability) {
        return why_not_compiled_for({13000, targets}, "GPU", capability).empty();
    };
    for (const int capability : {80, 86, 89, 90, 100, 120}) CHECK(runs("80 90a-real", capability));
    CHECK_FALSE(runs("80 90a-real", 75));
    CHECK(runs("90a-real", 90));
    CHECK_FALSE(runs("90a-real", 80));
    CHECK_FALSE(runs("90a-real", 100));
    CHECK_FALSE(runs("90a", 100));
    CHECK(runs("80-real", 86));
    CHECK_FALSE(runs("86-real", 80));
    CHECK_FALSE(runs("80-real", 90));
    CHECK(runs("80-virtual", 90));
    CHECK(runs("native", 90));
    CHECK_FALSE(runs("", 90));
    CHECK(cuda_targets_text({12040, "80 90a-real"}) == "8.0 and newer, 9.0");
}

TEST_CASE("cuBLASLt of 12 and of 13 is opened, as far as the driver serves it") {
    using Files = std::vector<std::string>;
    CHECK(cublas_lt_files(13000) == Files{"libcublasLt.so.13", "libcublasLt.so.12"});
    CHECK(cublas_lt_files(0) == cublas_lt_files(13000));
    CHECK(cublas_lt_files(12020) == Files{"libcublasLt.so.12"});
}
