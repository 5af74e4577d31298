// SPDX-License-Identifier: Apache-2.0
// Buckets that are much larger than the scratch memory become bf16 in their own memory on the
// emulated device, and fp32 again.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "runtime/kernels/reduce.hpp"
#include "runtime/train/reduction/narrow_gradients.hpp"
#include "tests/support/on_device.hpp"

using namespace lockstep;
using tests::OnDevice;
using train::NarrowGradients;

namespace {

std::vector<float> values(std::size_t count) {
    return tests::random_numbers<float>(static_cast<std::int64_t>(count), 5, 3);
}

// Returns what the kernels of casts make of the values in memory apart.
std::vector<bf16> plainly_narrowed(device::CudaContext& context, const std::vector<float>& from) {
    const OnDevice before(context, from);
    const OnDevice narrowed(context, std::vector<bf16>(from.size()));
    kernels::cast<float, bf16>(context, before.const_view(), narrowed.view());
    return narrowed.values();
}
std::vector<float> plainly_widened(device::CudaContext& context, const std::vector<bf16>& from) {
    const OnDevice before(context, from);
    const OnDevice widened(context, std::vector<float>(from.size()));
    kernels::cast<bf16, float>(context, before.const_view(), widened.view());
    return widened.values();
}

// Returns the bf16 elements that lie in the first half of a bucket's memory.
std::vector<bf16> first_half(const std::vector<float>& bucket) {
    std::vector<bf16> narrowed(bucket.size());
    std::memcpy(static_cast<void*>(narrowed.data()), bucket.data(), bucket.size() * sizeof(bf16));
    return narrowed;
}

}  // namespace

TEST_CASE("a GPU narrows and widens buckets much larger than its scratch memory as casts do") {
    device::CudaContext context(0);
    for (const std::size_t scratch : {8, 256, 1024})
        for (const std::size_t count : {std::size_t{1}, scratch - 1, scratch, scratch + 1,
                                        2 * scratch, 4 * scratch, 5 * scratch + 77, 70 * scratch}) {
            CAPTURE(scratch);
            CAPTURE(count);
            const std::vector<float> before = values(count);
            const std::vector<bf16> expected = plainly_narrowed(context, before);
            const OnDevice bucket(context, before);
            NarrowGradients narrow(context, count, scratch);
            CHECK(narrow.bytes() == std::min(count, scratch) * sizeof(bf16));
            narrow.narrow(bucket.view());
            CHECK(tests::same_bits(first_half(bucket.values()), expected));
            narrow.widen(bucket.view(), 0, count);
            CHECK(tests::same_bits(bucket.values(), plainly_widened(context, expected)));
        }
}

TEST_CASE("a GPU widens its own part of a bucket much larger than its scratch memory") {
    device::CudaContext context(0);
    constexpr std::size_t scratch = 256, part = 9 * scratch, ranks = 3;
    const std::vector<float> before = values(part * ranks);
    const std::vector<float> expected = plainly_widened(context, plainly_narrowed(context, before));
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        CAPTURE(rank);
        const OnDevice bucket(context, before);
        NarrowGradients narrow(context, before.size(), scratch);
        narrow.narrow(bucket.view());
        narrow.widen(bucket.view(), rank * part, part);
        const std::vector<float> after = bucket.values();
        const auto first = static_cast<std::ptrdiff_t>(rank * part),
                   count = static_cast<std::ptrdiff_t>(part);
        CHECK(std::equal(after.begin() + first, after.begin() + first + count,
                         expected.begin() + first));
    }
}
