// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/cuda_upload.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "tests/support/on_device.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using device::CudaContext;

namespace {

template <class T = std::int32_t>
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

TEST_CASE("an upload repeats the last value, and arrays of the same sizes come to the same place") {
    CudaContext ctx(0);
    device::Upload<CudaContext> upload(ctx);
    const auto place = [&](std::size_t size, std::size_t repeated) {
        const auto from_1 = counted(size, 1), from_2 = counted(size, 2);
        upload.begin(8 * repeated);
        const auto first = upload.add(view_of(from_1));
        const auto second = upload.add(view_of(from_2), repeated);
        CHECK(upload.add(HostView<const std::int32_t>(), 0).empty());
        upload.finish();
        CHECK(values_of(ctx, first) == counted(size, 1));
        auto expected = from_2;
        expected.resize(repeated, expected.back());
        CHECK(values_of(ctx, second) == expected);
        return std::pair(first.data(), second.data());
    };
    const auto at = place(90, 100);
    const std::int64_t moves = upload.moves();
    for (int i = 0; i < 4; ++i) CHECK(place(90, 100 + static_cast<std::size_t>(i)) == at);
    CHECK(upload.moves() == moves);
    place(90, 10'000);
    CHECK(upload.moves() == moves + 1);
    upload.begin(64);
    CHECK_THROWS_AS(upload.add(HostView<const std::int32_t>(), 3), Error);
}

TEST_CASE(
    "uploads reach the compute stream, whatever becomes of the arrays, and the next two differ") {
    CudaContext ctx(0);
    device::Upload<CudaContext> upload(ctx);
    for (int round = 0; round < 8; ++round) {
        const auto size = static_cast<std::size_t>(5 + 3000 * (round % 3));  // grows and shrinks
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
