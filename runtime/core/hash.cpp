// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/hash.hpp"

#include <xxhash.h>

#include <memory>

#include "runtime/core/read_file.hpp"

namespace lockstep {

std::uint64_t hash64(const void* data, std::size_t bytes, std::uint64_t seed) noexcept {
    return XXH3_64bits_withSeed(data, bytes, seed);
}

std::uint64_t hash_file(const std::string& path) {
    const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                         &XXH3_freeState);
    XXH3_64bits_reset(state.get());
    read_blocks(path, "cannot be read", [&](std::string_view block) {
        XXH3_64bits_update(state.get(), block.data(), block.size());
    });
    return XXH3_64bits_digest(state.get());
}

std::string hex(std::uint64_t value) {
    std::string text(16, '0');
    for (int i = 15; i >= 0; --i, value >>= 4) text[i] = "0123456789abcdef"[value & 15];
    return text;
}

}  // namespace lockstep
