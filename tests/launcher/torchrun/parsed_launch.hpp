// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "launcher/torchrun/launch_options.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::tests {

using namespace launcher;
using Words = std::vector<std::string>;

inline constexpr HostResources eight_cores{8, 0};

inline LaunchPlan plan_of(const Words& words, const comm::Environment& environment = {},
                          const HostResources& host = eight_cores) {
    const auto plan = parse_launch(words, environment, host);
    REQUIRE(plan.has_value());
    return *plan;
}

inline std::string refusal(const Words& words, const comm::Environment& environment = {}) {
    try {
        parse_launch(words, environment, eight_cores);
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::config);
        return error.what();
    }
    return "";
}

}  // namespace lockstep::tests
