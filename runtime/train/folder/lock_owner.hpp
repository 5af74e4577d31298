// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lockstep::train {

// Identifies the run that has a model folder, as its lock file tells.
struct LockOwner {
    std::string run;   // a random token
    std::string host;  // for people
    // Names one machine through all its boots. Empty: unknown, as in most containers.
    std::string machine;
    // One boot of one machine, and the process numbers that are visible there. A process can be
    // asked about only where both are the same.
    std::string boot_id, pid_namespace;
    std::int64_t pid = 0;
    std::int64_t start_ticks = 0;  // start of the process since the boot, as /proc tells it
    std::string since;             // UTC
    std::string job;               // Slurm's job and cluster; empty: none
    std::int64_t job_restarts = 0;
    std::int64_t beats = 0;  // grows while the run lives
};

// gone: its process has surely ended. requeued: Slurm has ended it and has started the job again,
// but a node that does not answer Slurm may still write.
enum class OwnerState { alive, gone, requeued, cannot_be_asked };

// Describes this process, with a new token.
LockOwner this_process();
// The length of the text does not depend on `beats`.
std::string to_json(const LockOwner& owner);
// Returns nothing for a text that describes no owner.
std::optional<LockOwner> owner_from(const std::string& json);
// Tells whether the owner's process still runs, as far as the process `self` can know it. A process
// with the same number but another start is another process.
OwnerState state_of(const LockOwner& owner, const LockOwner& self);
// Returns a text such as "process 4711 on node7 (job 12)".
std::string name(const LockOwner& owner);

// Returns 16 random hexadecimal digits, for names that no other process of any host uses.
std::string random_name();

}  // namespace lockstep::train
