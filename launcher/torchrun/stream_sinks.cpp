// SPDX-License-Identifier: Apache-2.0
#include "launcher/torchrun/stream_sinks.hpp"

#include <sstream>

#include "launcher/command_line/option_table.hpp"

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

void show_only(const std::string& filter, Sink kept, std::vector<StreamSinks>& sinks) {
    if (filter.empty()) return;
    const std::string option = "local-ranks-filter";
    std::vector<bool> shown(sinks.size(), false);
    std::istringstream in(filter);
    for (std::string part; std::getline(in, part, ',');) {
        const auto rank = static_cast<std::size_t>(parse_integer(option, part, 0, 4095));
        if (rank >= shown.size()) OptionTable::reject(option, filter, "ranks of this host");
        shown[rank] = true;
    }
    const auto hide = [kept](Sink& sink) {
        if (sink == Sink::inherited) sink = Sink::nowhere;
        if (sink == Sink::both) sink = kept;
    };
    for (std::size_t rank = 0; rank < sinks.size(); ++rank) {
        if (shown[rank]) continue;
        hide(sinks[rank].output);
        hide(sinks[rank].error);
    }
}

}  // namespace lockstep::launcher
