// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace lockstep {

// Returns the 64-bit XXH3 hash.
std::uint64_t hash64(const void* data, std::size_t bytes, std::uint64_t seed = 0) noexcept;
inline std::uint64_t hash64(std::string_view text, std::uint64_t seed = 0) noexcept {
    return hash64(text.data(), text.size(), seed);
}
// Returns the hash of a file's contents. Throws an io error that names the path.
std::uint64_t hash_file(const std::string& path);
// Calculates the same hash of data that comes in blocks.
class StreamHash {
public:
    StreamHash();
    StreamHash(StreamHash&&) noexcept;
    StreamHash& operator=(StreamHash&&) noexcept;
    ~StreamHash();

    void add(const void* data, std::size_t bytes) noexcept;
    std::uint64_t value() const noexcept;

private:
    struct State;
    std::unique_ptr<State> state_;
};
// Returns 16 lower-case hexadecimal digits.
std::string hex(std::uint64_t value);

}  // namespace lockstep
