// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace lockstep::comm {

// Closes a text so that only processes of the same user, or of the same job, can open it, on any
// host of the cluster.
class SecretEnvelope {
public:
    virtual ~SecretEnvelope() = default;
    // Throws kind store when the host's service does not answer.
    virtual std::string close(const std::string& text) = 0;
    // Empty where the credential is not for this process.
    virtual std::optional<std::string> open(const std::string& credential) = 0;
};

// By the host's munged, which clusters with Slurm have; null where there is none, or no libmunge.
std::unique_ptr<SecretEnvelope> munge_seal();

// By the PMIx that started this rank of a job; null where none did, or it does not answer. Text
// that rank 0 closed can be opened as long as the job lives.
std::unique_ptr<SecretEnvelope> pmix_seal();

}  // namespace lockstep::comm
