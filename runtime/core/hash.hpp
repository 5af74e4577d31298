// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lockstep {

// XXH3, 64 bits.
std::uint64_t hash64(const void* data, std::size_t bytes, std::uint64_t seed = 0) noexcept;
inline std::uint64_t hash64(std::string_view text, std::uint64_t seed = 0) noexcept {
    return hash64(text.data(), text.size(), seed);
}
// The hash of a file's contents; throws an io error naming the path.
std::uint64_t hash_file(const std::string& path);
// 16 lower-case hexadecimal digits.
std::string hex(std::uint64_t value);

}  // namespace lockstep
