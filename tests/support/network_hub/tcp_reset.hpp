// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace lockstep::tests {

// Tells the ports of an Ethernet frame that holds a TCP segment over IPv4, if it is not the first
// one of its connection.
std::optional<std::pair<std::uint16_t, std::uint16_t>> ports_of_segment(std::string_view frame);

// Returns two frames that reset the connection of such a segment, as a device between its ends may
// do: one for the sender and one for the receiver. Both ends accept them if the segment does not
// arrive.
std::pair<std::string, std::string> resets_of(std::string_view frame);

}  // namespace lockstep::tests
