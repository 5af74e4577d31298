// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

// Both ends of a probe use this protocol: the caller sends the token and one of these letters.
namespace lockstep::launcher::doctor {

constexpr char ask_time = 't';    // each following byte is answered with the time, int64 in ns
constexpr char ask_stream = 's';  // following bytes are counted for a while; the count is the reply

struct StreamCount {
    std::int64_t bytes = 0, nanoseconds = 0;
};

constexpr std::chrono::milliseconds stream_time(120);
constexpr std::chrono::milliseconds longest_probe(5'000);
constexpr std::size_t stream_block_bytes = std::size_t{256} << 10;
constexpr std::size_t max_connections = 4'096;

}  // namespace lockstep::launcher::doctor
