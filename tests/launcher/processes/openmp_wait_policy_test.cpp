// SPDX-License-Identifier: Apache-2.0
#include "launcher/processes/openmp_wait_policy.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/run_program.hpp"

using namespace lockstep;
using namespace lockstep::launcher;

namespace {

// Returns what the environment says after the policy was set.
std::string spins_in(comm::Environment environment) {
    set_openmp_wait_policy(environment);
    const auto found = environment.find("GOMP_SPINCOUNT");
    return found == environment.end() ? "" : found->second;
}

}  // namespace

TEST_CASE("threads spin for a short time, unless the user says how they wait") {
    const auto spins_a_while = [](const comm::Environment& environment) {
        const int spins = std::stoi(spins_in(environment));
        return spins >= 100 && spins <= 2000;
    };
    CHECK(spins_a_while({}));
    CHECK(spins_in({{"GOMP_SPINCOUNT", "7"}}) == "7");
    for (const std::string policy : {"passive", "active", ""})
        CHECK(spins_in({{"OMP_WAIT_POLICY", policy}}) == "");
    CHECK(spins_in({{"OMP_WAIT_POLICY", "active"}, {"GOMP_SPINCOUNT", "7"}}) == "7");
    CHECK(spins_a_while({{"OMP_NUM_THREADS", "2"}}));
}
