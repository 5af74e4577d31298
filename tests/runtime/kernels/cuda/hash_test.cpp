// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/hash.hpp"

#include <doctest/doctest.h>

#include <set>

#include "runtime/core/philox.hpp"
#include "tests/support/on_device.hpp"

using namespace lockstep;
using namespace lockstep::tests;
using kernels::CudaContext;

namespace {

std::uint64_t hash_of(CudaContext& ctx, const std::vector<std::uint32_t>& words) {
    const OnDevice on_device(ctx, words);
    const OnDevice<std::uint64_t> result(ctx, {77});
    kernels::hash(ctx,
                  CudaView<const std::byte>(reinterpret_cast<const std::byte*>(on_device.data()),
                                            words.size() * sizeof(std::uint32_t)),
                  result.view());
    return result.values()[0];
}

}  // namespace

TEST_CASE("CUDA's hash is the sum of what it says, for every number of words") {
    CudaContext ctx(0);
    for (const std::size_t count : {0, 1, 2, 3, 4, 5, 7, 4097, 50000}) {
        std::vector<std::uint32_t> words(count);
        PhiloxStream random(5);
        for (auto& word : words) word = random();
        std::uint64_t expected = 0;
        for (std::size_t i = 0; i < count; i += 2) {
            const std::uint64_t high = i + 1 < count ? words[i + 1] : 0;
            expected += mix(high << 32 | words[i], i / 2);
        }
        CHECK(hash_of(ctx, words) == expected);
    }
}

TEST_CASE("CUDA's hash differs when one bit, two words' coordinates or their number do") {
    CudaContext ctx(0);
    const std::vector<std::uint32_t> words(1000, 3);
    std::set<std::uint64_t> hashes{hash_of(ctx, words)};
    for (const std::size_t i : {0u, 1u, 500u, 999u}) {
        auto other = words;
        other[i] ^= 1u << 31;
        hashes.insert(hash_of(ctx, other));
    }
    auto longer = words;
    longer.push_back(0);
    hashes.insert(hash_of(ctx, longer));
    CHECK(hashes.size() == 6);
}
