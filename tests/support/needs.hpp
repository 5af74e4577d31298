// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep::tests {

// What a container without rights or a changed root (chroot) may not give. A case that needs one of
// them has it as its suite:
//   TEST_CASE("..." * doctest::test_suite(needs_terminal))
// Where it is missing, doctest_main leaves the suite out.
inline constexpr const char* needs_terminal = "needs a terminal";
inline constexpr const char* needs_other_user = "needs another user";
inline constexpr const char* needs_mounts = "needs mounts";
inline constexpr const char* needs_small_disk = "needs a small disk";
inline constexpr const char* needs_networks = "needs networks";
inline constexpr const char* needs_tunnels = "needs tunnels";
inline constexpr const char* needs_nameless_host = "needs a nameless host";

// In continuous integration nothing may be left out, except what its kernel may not have.
enum class InIntegration { refused, left_out };

struct MissingNeed {
    std::string suite;
    std::string lack;
    InIntegration in_integration = InIntegration::refused;
};

// Tries each need that is one of these suites. Returns those that this process does not have.
std::vector<MissingNeed> missing_needs(const std::vector<std::string_view>& suites);

}  // namespace lockstep::tests
