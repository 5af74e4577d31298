// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace lockstep::comm {

// Closes a text so that only processes of the same user can open it, on any host of the cluster.
class Seal {
public:
    virtual ~Seal() = default;
    // Throws kind store when the host's service does not answer.
    virtual std::string close(const std::string& text) = 0;
    // Empty where the credential is not one that this user closed.
    virtual std::optional<std::string> open(const std::string& credential) = 0;
};

// By the host's munged, which clusters with Slurm have; null where there is none, or no libmunge.
std::unique_ptr<Seal> munge_seal();

}  // namespace lockstep::comm
