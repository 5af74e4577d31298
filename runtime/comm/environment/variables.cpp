// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/environment/variables.hpp"

#include <charconv>
#include <limits>
#include <utility>

#include "runtime/comm/environment/address_text.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::comm {

void refuse_environment(const std::string& message) { throw Error(ErrorKind::config, message); }

std::optional<std::string> Variables::find(const std::string& name) const {
    const auto entry = environment_.find(name);
    if (entry == environment_.end()) return std::nullopt;
    std::string text = trimmed(entry->second);
    return text.empty() ? std::nullopt : std::optional(std::move(text));
}

std::optional<std::int64_t> Variables::whole(const std::string& name) const {
    const auto text = find(name);
    if (!text) return std::nullopt;
    std::int64_t value = 0;
    const char* end = text->data() + text->size();
    const auto [stop, failure] = std::from_chars(text->data(), end, value);
    if (failure != std::errc() || stop != end || value < 0 || value > 0xFFFFFFFF) {
        refuse_environment(name + "='" + shown(*text) +
                           "' in the environment is not a whole number: give digits alone");
    }
    return value;
}

std::optional<int> Variables::number(const std::string& name) const {
    const auto value = whole(name);
    // Callers may add one.
    if (value && *value >= std::numeric_limits<int>::max()) {
        refuse_environment(name + "='" + *find(name) + "' in the environment is too large");
    }
    return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

int Variables::needed(const std::string& name, const std::string& because) const {
    const auto value = number(name);
    if (!value) refuse_environment(name + " is missing from the environment, although " + because);
    return *value;
}

RankInfo checked_rank_info(RankInfo rank_info, const std::string& source) {
    const auto text = [](int value) { return std::to_string(value); };
    if (rank_info.size < 1)
        refuse_environment(source + " gives a world of " + text(rank_info.size) + " ranks");
    if (rank_info.size > max_ranks)
        refuse_environment(source + " gives a world of " + text(rank_info.size) +
                           " ranks, and a run has at most " + text(max_ranks));
    if (rank_info.rank < 0 || rank_info.rank >= rank_info.size) {
        refuse_environment(source + " gives rank " + text(rank_info.rank) + " of " +
                           text(rank_info.size) + ": ranks count from 0 to size - 1");
    }
    // Open MPI 5 numbers a host's ranks in another order than the world's, so only the bounds are
    // checked.
    const bool local_fits = rank_info.local_rank >= 0 &&
                            rank_info.local_rank < rank_info.local_size &&
                            rank_info.local_size <= rank_info.size;
    if (!local_fits) {
        refuse_environment(source + " gives local rank " + text(rank_info.local_rank) + " of " +
                           text(rank_info.local_size) + " on this host, which contradicts rank " +
                           text(rank_info.rank) + " of " + text(rank_info.size));
    }
    if (rank_info.master_port < 0 || rank_info.master_port > 65535) {
        refuse_environment(source + " gives port " + text(rank_info.master_port) +
                           ": ports go from 1 to 65535");
    }
    rank_info.host = host_name();
    return rank_info;
}

}  // namespace lockstep::comm
