// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/reduction/narrow_gradients.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "runtime/core/error.hpp"
#include "runtime/device/cpu_context.hpp"

using namespace lockstep;

namespace {

using NarrowGradients = train::NarrowGradients<device::CpuContext>;

constexpr std::size_t usual = train::usual_narrowing_scratch;

std::vector<float> values(std::size_t count) {
    std::vector<float> result(count);
    for (std::size_t i = 0; i < count; ++i)
        result[i] = static_cast<float>(i % 100'003) / 7 - static_cast<float>(i % 11);
    return result;
}

// Counts the elements in [first, first + count) of a bucket that differ from `expected` rounded.
std::size_t differences(const std::vector<float>& bucket, const std::vector<float>& expected,
                        std::size_t first, std::size_t count) {
    std::size_t wrong = 0;
    for (std::size_t i = first; i < first + count; ++i)
        if (bucket[i] != static_cast<float>(bf16(expected[i]))) ++wrong;
    return wrong;
}

}  // namespace

TEST_CASE("buckets of any size become bf16 in their own memory, and fp32 again") {
    device::CpuContext context(2);
    for (const std::size_t scratch : {std::size_t{1}, std::size_t{3}, usual})
        for (const std::size_t count :
             {std::size_t{1}, std::size_t{255}, scratch - 1, scratch, scratch + 1, 2 * scratch,
              2 * scratch + 1, 3 * scratch, 4 * scratch, 5 * scratch + 77}) {
            if (count == 0) continue;
            CAPTURE(scratch);
            CAPTURE(count);
            NarrowGradients narrow(context, count, scratch);
            CHECK(narrow.bytes() == std::min(count, scratch) * sizeof(bf16));
            const std::vector<float> before = values(count);
            std::vector<float> bucket = before;
            narrow.narrow(view_of(bucket));
            const auto narrowed = narrow.narrowed(view_of(bucket));
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < count; ++i)
                if (narrowed[i].bits != bf16(before[i]).bits) ++wrong;
            CHECK(wrong == 0);
            narrow.widen(view_of(bucket), 0, count);
            CHECK(differences(bucket, before, 0, count) == 0);
        }
}

TEST_CASE("each rank widens its own part") {
    device::CpuContext context(1);
    constexpr std::size_t ranks = 3;
    for (const std::size_t scratch : {std::size_t{256}, usual}) {
        CAPTURE(scratch);
        const std::size_t part = scratch * 3 / 2;
        const std::vector<float> before = values(part * ranks);
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            NarrowGradients narrow(context, before.size(), scratch);
            std::vector<float> bucket = before;
            narrow.narrow(view_of(bucket));
            narrow.widen(view_of(bucket), rank * part, part);
            CHECK(differences(bucket, before, rank * part, part) == 0);
        }
        NarrowGradients narrow(context, before.size(), scratch);
        std::vector<float> bucket = before;
        CHECK_THROWS_AS(narrow.widen(view_of(bucket), 1, part), Error);
    }
}

TEST_CASE("the scratch memory has a usual size, and is never empty where buckets are narrowed") {
    device::CpuContext context(1);
    CHECK(NarrowGradients(context, 2 * usual).bytes() == usual * sizeof(bf16));
    CHECK_THROWS_AS(NarrowGradients(context, 1, 0), Error);
}

TEST_CASE("gradients that travel as fp32 need no scratch memory") {
    device::CpuContext context(1);
    CHECK_FALSE(NarrowGradients(context, 0).used());
}
