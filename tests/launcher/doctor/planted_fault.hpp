// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "launcher/doctor/findings.hpp"
#include "tests/launcher/doctor/sound_facts.hpp"

// A fault that is planted into sound facts is found, alone, with its place and what to do.
namespace lockstep::tests {

using Plant = std::function<void(Facts&)>;

inline void found(Severity severity, const std::string& where, const std::string& what,
                  const Facts& facts) {
    const auto findings = judge(facts);
    INFO(text_of(findings));
    REQUIRE(findings.size() == 1);
    CHECK(findings.front().severity == severity);
    CHECK(findings.front().where == where);
    CHECK(findings.front().what.find(what) != std::string::npos);
    CHECK_FALSE(findings.front().advice.empty());
    CHECK(would_break(findings) == (severity == Severity::breaks));
}

inline void found(Severity severity, const std::string& where, const std::string& what,
                  const Plant& plant) {
    Facts facts = sound_facts();
    plant(facts);
    found(severity, where, what, facts);
}

}  // namespace lockstep::tests
