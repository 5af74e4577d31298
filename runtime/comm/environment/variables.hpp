// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/comm/environment/environment.hpp"
#include "runtime/comm/environment/rank_info.hpp"

// Only the sources of this room include this file.
namespace lockstep::comm {

// Reads variables of one environment, without blanks at their ends; a variable that is empty or
// blank counts as missing. Throws kind config for a text that is not a whole number where one is
// needed.
class Variables {
public:
    explicit Variables(const Environment& environment) : environment_(environment) {}

    std::optional<std::string> find(const std::string& name) const;
    bool has(const std::string& name) const { return find(name).has_value(); }
    std::optional<std::int64_t> whole(const std::string& name) const;  // up to 32 bits
    std::optional<int> number(const std::string& name) const;
    // `because` says why the variable must be there.
    int needed(const std::string& name, const std::string& because) const;

private:
    const Environment& environment_;
};

[[noreturn]] void refuse_environment(const std::string& message);

// Returns `rank_info` with its host added when its numbers agree with each other; otherwise throws
// kind config naming `source`.
RankInfo checked_rank_info(RankInfo rank_info, const std::string& source);

}  // namespace lockstep::comm
