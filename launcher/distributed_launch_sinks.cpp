// SPDX-License-Identifier: Apache-2.0
#include "launcher/distributed_launch_sinks.hpp"

#include <sstream>

#include "launcher/options/option_table.hpp"

namespace lockstep::launcher {

namespace {

constexpr int output_bit = 1, error_bit = 2;

int streams_of(const std::string& option, const std::string& text) {
    return static_cast<int>(parse_integer(option, text, 0, output_bit | error_bit));
}

std::vector<int> by_rank(const std::string& option, const std::string& text, int ranks) {
    std::vector<int> streams(static_cast<std::size_t>(ranks), 0);
    if (text.find(':') == std::string::npos) {
        streams.assign(streams.size(), streams_of(option, text));
        return streams;
    }
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, ',');) {
        const auto colon = part.find(':');
        if (colon == std::string::npos) OptionTable::reject(option, text, "as 0:1,1:3");
        const auto last = static_cast<std::uint64_t>(ranks - 1);
        const auto rank = parse_integer(option, part.substr(0, colon), 0, last);
        if (rank > ranks - 1) OptionTable::reject(option, text, "about ranks of this host");
        streams[static_cast<std::size_t>(rank)] = streams_of(option, part.substr(colon + 1));
    }
    return streams;
}

Sink sink_of(int redirected, int teed, int bit) {
    if ((teed & bit) != 0) return Sink::both;
    return (redirected & bit) != 0 ? Sink::file : Sink::inherited;
}

}  // namespace

std::vector<StreamSinks> sinks_of(const std::string& redirects, const std::string& tee, int ranks) {
    const auto redirected = by_rank("redirects", redirects, ranks);
    const auto teed = by_rank("tee", tee, ranks);
    std::vector<StreamSinks> sinks;
    for (std::size_t i = 0; i < redirected.size(); ++i) {
        sinks.push_back({sink_of(redirected[i], teed[i], output_bit),
                         sink_of(redirected[i], teed[i], error_bit)});
    }
    return sinks;
}

}  // namespace lockstep::launcher
