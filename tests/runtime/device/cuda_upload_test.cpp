// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda_upload.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "tests/support/on_device.hpp"

using namespace lockstep;
using namespace lockstep::test;
using device::CudaContext;

namespace {

template <class T>
std::vector<T> counted(std::size_t size, T first) {
    std::vector<T> values(size);
    std::iota(values.begin(), values.end(), first);
    return values;
}

template <class T>
std::vector<T> values_of(CudaContext& ctx, CudaView<const T> view) {
    std::vector<T> values(view.size());
    device::copy(ctx, view, view_of(values));
    ctx.synchronize();
    return values;
}

}  // namespace

TEST_CASE(
    "uploads reach the compute stream, whatever becomes of the arrays, and the next two differ") {
    CudaContext ctx(0);
    device::Upload<CudaContext> upload(ctx);
    for (int round = 0; round < 8; ++round) {
        const auto size = static_cast<std::size_t>(5 + 3000 * (round % 3));  // grows, and shrinks
        auto words = counted<std::int32_t>(size, round);
        auto wide = counted<std::int64_t>(3, 100 + round);
        const auto words_before = words;
        const auto wide_before = wide;
        upload.begin(size * 4 + 3 * 8);
        const auto placed = upload.add(HostView<const std::int32_t>(view_of(words)));
        const auto none = upload.add(HostView<const std::int32_t>());
        const auto placed_wide = upload.add(HostView<const std::int64_t>(view_of(wide)));
        upload.finish();
        words.assign(size, -1);
        wide.assign(3, -1);
        CHECK(none.empty());
        CHECK(reinterpret_cast<std::uintptr_t>(placed_wide.data()) % 64 == 0);
        CHECK(values_of(ctx, placed) == words_before);
        CHECK(values_of(ctx, placed_wide) == wide_before);
    }
    CHECK_THROWS_AS(upload.add(HostView<const double>(counted<double>(10'000, 0).data(), 10'000)),
                    Error);
}
