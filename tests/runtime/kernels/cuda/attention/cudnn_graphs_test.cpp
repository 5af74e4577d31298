// SPDX-License-Identifier: Apache-2.0
// cuDNN makes plans for GPUs that are not present, from their properties and a driver that accepts
// every kernel (support/seeming_driver). Thus these tests show without a GPU which shapes it
// refuses or plans differently than Lockstep expects.
#include "runtime/kernels/cuda/attention/cudnn_graphs.hpp"

#include <cudnn_frontend.h>

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <memory>
#include <string>

using namespace lockstep;
using namespace lockstep::kernels::cuda;
namespace fe = cudnn_frontend;

namespace {

constexpr int hopper = 90, blackwell = 100;
constexpr std::size_t before_turns = 92400, with_turns = 92500;

// Returns the properties of an H100, or of a B200 as far as they differ.
std::shared_ptr<fe::DeviceProperties> properties_of(int capability) {
    const std::string words =
        R"({"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],
            "regsPerBlock":65536,"warpSize":32,"maxSharedMemoryPerBlock":49152,
            "maxSharedMemoryPerBlockOptin":232448,"reservedSharedMemoryPerBlock":1024,
            "maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,
            "maxThreadsPerSM":2048,"pciDeviceId":0,"isTccDriver":0,"supportCoopLaunch":1,
            "totalGlobalMem":85000000000,"smClockRateKHz":1980000,"memClockRateKHz":2619000,
            "memoryBusWidth":5120,"l2CacheSize":52428800,"cudaDeviceId":0,"driverVer":13000,
            "deviceName":"seeming","deviceVer":)" +
        std::to_string(capability * 10) + R"(,"multiProcessorCount":)" +
        (capability == hopper ? "132}" : "148}");
    auto properties = std::make_shared<fe::DeviceProperties>();
    auto status = properties->deserialize({words.begin(), words.end()});
    REQUIRE_MESSAGE(status.is_good(), status.get_message());
    return properties;
}

LibraryShape shape_of(LibraryPass pass, LibrarySums sums, kernels::Mask mask, int head_dim,
                      std::int64_t longest_q, std::int64_t longest_k, Dtype element = Dtype::bf16) {
    constexpr std::int64_t sequences = 64, heads = 12;
    LibraryShape shape{pass,
                       element,
                       mask,
                       sums,
                       sequences,
                       heads,
                       head_dim,
                       longest_q,
                       longest_k,
                       sequences * longest_q,
                       sequences * longest_k,
                       {}};
    // Queries, keys and values lie side by side, as in self-attention.
    shape.strides.fill(3 * heads * head_dim);
    shape.strides[tensor::statistics] = heads;
    return shape;
}

void check_plan(const LibraryShape& shape, int capability) {
    const CudnnWay way = way_of(shape, fe::detail::get_backend_version(), capability);
    CAPTURE(capability);
    CAPTURE(static_cast<int>(shape.pass));
    CAPTURE(shape.head_dim);
    CAPTURE(shape.longest_k);
    if (way == CudnnWay::none) return;
    const auto graph = graph_of(shape, way, capability);
    graph->set_device_properties(properties_of(capability));
    CHECK(build_plan(*graph, way, nullptr) == "");
    std::int64_t bytes = 0;
    CHECK(graph->get_workspace_size(bytes).is_good());
    CHECK(bytes <= max_workspace_bytes(shape));
}

void check_plans(kernels::Mask mask, int head_dim, std::int64_t longest_q, std::int64_t longest_k,
                 Dtype element = Dtype::bf16) {
    for (const int capability : {hopper, blackwell}) {
        const auto check = [&](LibraryPass pass, LibrarySums sums) {
            check_plan(shape_of(pass, sums, mask, head_dim, longest_q, longest_k, element),
                       capability);
        };
        check(LibraryPass::forward, LibrarySums::in_fixed_order);
        check(LibraryPass::backward, LibrarySums::in_fixed_order);
        check(LibraryPass::backward, LibrarySums::in_any_order);
    }
}

LibraryShape in_fixed_order(int head_dim, std::int64_t longest) {
    return shape_of(LibraryPass::backward, LibrarySums::in_fixed_order, kernels::Mask::causal,
                    head_dim, longest, longest);
}

}  // namespace

TEST_CASE("cuDNN makes a plan within its memory for every graph that it is said to take") {
    check_plans(kernels::Mask::causal, 8, 128, 128);
    check_plans(kernels::Mask::none, 40, 256, 256);
    check_plans(kernels::Mask::causal, 64, 1024, 1024);
    check_plans(kernels::Mask::causal, 128, 1024, 1024);
    check_plans(kernels::Mask::none, 128, 2048, 2048);
}

TEST_CASE("cuDNN takes both masks, both types of 16 bits and cross attention") {
    check_plans(kernels::Mask::none, 64, 256, 512);
    check_plans(kernels::Mask::causal, 64, 512, 512, Dtype::fp16);
}

TEST_CASE("sums in a fixed order are by all scores, or in turns, or not cuDNN's") {
    for (const std::size_t version : {before_turns, with_turns}) {
        CHECK(way_of(in_fixed_order(64, 512), version, hopper) == CudnnWay::chosen_by_cudnn);
        CHECK(way_of(in_fixed_order(64, 4096), version, blackwell) == CudnnWay::chosen_by_cudnn);
    }
    for (const int head_dim : {64, 128}) {
        const LibraryShape shape = in_fixed_order(head_dim, 2048);
        CHECK(way_of(shape, before_turns, hopper) == CudnnWay::none);
        CHECK(way_of(shape, with_turns, hopper) == CudnnWay::in_turns);
    }
    CHECK(way_of(in_fixed_order(64, 256), with_turns, 120) == CudnnWay::none);
    LibraryShape any_order = in_fixed_order(64, 1024);
    any_order.sums = LibrarySums::in_any_order;
    CHECK(way_of(any_order, before_turns, hopper) == CudnnWay::chosen_by_cudnn);
}

TEST_CASE("versions with faults are not taken") {
    LibraryShape shape = in_fixed_order(64, 256);
    CHECK(way_of(shape, 91799, hopper) == CudnnWay::none);
    CHECK(way_of(shape, 91800, hopper) == CudnnWay::chosen_by_cudnn);
    shape.pass = LibraryPass::forward;
    CHECK(way_of(shape, 90599, hopper) == CudnnWay::none);
    CHECK(way_of(shape, 90600, hopper) == CudnnWay::chosen_by_cudnn);
}

TEST_CASE("a run's line tells which batches are cuDNN's, and from when on it would be more") {
    const std::string batches = " for batches with sequences of 256 tokens or more";
    AttentionSettings settings;
    const auto line = [&](std::size_t version, int capability) {
        return describe_cudnn(version, capability, settings, 64);
    };
    CHECK(line(92500, hopper) == "cuDNN 9.25" + batches + ", else own kernels");
    CHECK(line(91900, blackwell) == "cuDNN 9.19" + batches + ", else own kernels");
    CHECK(line(91900, hopper) ==
          "cuDNN 9.19" + batches +
              ", backward of at most 512 tokens (of any length from 9.25 on), else own kernels");
    CHECK(line(91000, hopper) ==
          "cuDNN 9.10" + batches + ", forward alone (backward from 9.18 on), else own kernels");
    CHECK(line(92500, 120) == "cuDNN 9.25" + batches + ", forward alone, else own kernels");
    CHECK(line(90500, hopper) == "own kernels: cuDNN 9.5 is older than 9.6");
    CHECK(line(92500, 80) == "own kernels: cuDNN 9.25's are for compute capability 9.0 and newer");
    settings.autotune = true;
    CHECK(line(91900, hopper) ==
          "cuDNN 9.19" + batches + ", backward by the fastest, else own kernels");
}

// Exit code 77 tells ctest that the tests were skipped.
int main(int argc, char** argv) {
    try {
        static const device::CudaLibrary cudnn({"libcudnn.so.9"});
        fe::cudnn_dlhandle = cudnn.handle();
    } catch (const Error& missing) {
        std::printf("skipped: %s\n", missing.what());
        return 77;
    }
    return doctest::Context(argc, argv).run();
}
