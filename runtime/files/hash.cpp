// SPDX-License-Identifier: Apache-2.0
#include "runtime/files/hash.hpp"

#include <xxhash.h>

#include "runtime/core/read_file.hpp"

namespace lockstep {

std::uint64_t hash64(const void* data, std::size_t bytes, std::uint64_t seed) noexcept {
    return XXH3_64bits_withSeed(data, bytes, seed);
}

std::uint64_t hash_file(const std::string& path) {
    StreamHash hash;
    read_blocks(path, "cannot be read",
                [&](std::string_view block) { hash.add(block.data(), block.size()); });
    return hash.value();
}

// The library aligns its state to 64 bytes itself.
struct StreamHash::State {
    std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> xxh3{XXH3_createState(),
                                                                  &XXH3_freeState};
};

StreamHash::StreamHash() : state_(std::make_unique<State>()) {
    XXH3_64bits_reset(state_->xxh3.get());
}
StreamHash::StreamHash(StreamHash&&) noexcept = default;
StreamHash& StreamHash::operator=(StreamHash&&) noexcept = default;
StreamHash::~StreamHash() = default;

void StreamHash::add(const void* data, std::size_t bytes) noexcept {
    XXH3_64bits_update(state_->xxh3.get(), data, bytes);
}

std::uint64_t StreamHash::value() const noexcept { return XXH3_64bits_digest(state_->xxh3.get()); }

std::string hex(std::uint64_t value) {
    std::string text(16, '0');
    for (int i = 15; i >= 0; --i, value >>= 4) text[i] = "0123456789abcdef"[value & 15];
    return text;
}

}  // namespace lockstep
