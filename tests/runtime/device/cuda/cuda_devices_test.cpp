// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/cuda_devices.hpp"

#include <doctest/doctest.h>

#include <set>

#include "runtime/device/cuda/cuda_context.hpp"

using namespace lockstep;

TEST_CASE("each visible GPU has a UUID and an address of its own, as nvidia-smi writes them") {
    const auto gpus = device::visible_gpu_identities();
    REQUIRE(static_cast<int>(gpus.size()) == device::visible_gpus());
    std::set<std::string> uuids;
    for (const auto& gpu : gpus) {
        uuids.insert(gpu.uuid);
        CHECK(gpu.uuid.size() == std::string("GPU-00112233-4455-6677-8899-aabbccddeeff").size());
        CHECK(gpu.uuid.starts_with("GPU-"));
        CHECK(gpu.bytes > 0);
        CHECK(gpu.pci.size() >= std::string("0000:1A:00.0").size());
    }
    CHECK(uuids.size() == gpus.size());
}

TEST_CASE("what is taken of a GPU's memory is no longer free") {
    constexpr std::size_t bytes = std::size_t{64} << 20;
    const std::size_t before = device::free_gpu_bytes(0);
    CHECK(before <= device::visible_gpu_identities().front().bytes);
    const device::Buffer<std::byte, CudaSpace> taken(bytes);
    CHECK(device::free_gpu_bytes(0) <= before - bytes);
}
