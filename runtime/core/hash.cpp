// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/hash.hpp"

#include <xxhash.h>

#include <fstream>
#include <memory>
#include <vector>

#include "runtime/core/error.hpp"

namespace lockstep {

std::uint64_t hash64(const void* data, std::size_t bytes, std::uint64_t seed) noexcept {
    return XXH3_64bits_withSeed(data, bytes, seed);
}

std::uint64_t hash_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw_errno("cannot be read", path);
    const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                         &XXH3_freeState);
    XXH3_64bits_reset(state.get());
    std::vector<char> block(1 << 20);
    while (in) {
        in.read(block.data(), static_cast<std::streamsize>(block.size()));
        XXH3_64bits_update(state.get(), block.data(), static_cast<std::size_t>(in.gcount()));
    }
    if (in.bad()) throw_errno("cannot be read to its end", path);
    return XXH3_64bits_digest(state.get());
}

std::string hex(std::uint64_t value) {
    std::string text(16, '0');
    for (int i = 15; i >= 0; --i, value >>= 4) text[i] = "0123456789abcdef"[value & 15];
    return text;
}

}  // namespace lockstep
