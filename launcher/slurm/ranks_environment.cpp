// SPDX-License-Identifier: Apache-2.0
#include "launcher/slurm/ranks_environment.hpp"

namespace lockstep::launcher {

namespace {

// Nodes without PMIx let the ranks meet over TCP. The secret is passed in the environment because
// command lines are public.
constexpr const char* secret_lines = R"(
# By this the ranks know each other where they meet over the network.
LOCKSTEP_SECRET=${LOCKSTEP_SECRET:-$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')}
export LOCKSTEP_SECRET
)";

constexpr const char* times_line = R"(
# Each line of the ranks in the job's file has its time.
export LOCKSTEP_LOG_TIMES=3
)";

}  // namespace

std::string ranks_environment(const SlurmJob& spec) {
    std::string lines = std::string(secret_lines) + times_line;
    if (!spec.setup.empty()) lines += "\n";
    for (const std::string& line : spec.setup) lines += line + "\n";
    return lines;
}

}  // namespace lockstep::launcher
