// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace lockstep::comm {

// Tells which hosts can open what an envelope has closed.
enum class Reach { this_host, cluster };

// Closes a text so that only processes of the same user or of the same job can open it.
class SecretEnvelope {
public:
    virtual ~SecretEnvelope() = default;
    virtual Reach reach() const noexcept = 0;
    virtual std::string name() const = 0;  // for messages: "Munge"
    // Throws kind store when the host's service does not answer.
    virtual std::string close(const std::string& text) = 0;
    // Returns an empty result if the credential is not for this process.
    virtual std::optional<std::string> open(const std::string& credential) = 0;
};

// Makes an envelope that uses the host's munged, which clusters with Slurm have. Returns null if
// there is no munged or no libmunge. munge_envelope.cpp defines the function.
std::unique_ptr<SecretEnvelope> munge_envelope();

// Makes an envelope that uses the PMIx daemon that started this rank. Returns null if there is no
// daemon or it does not answer. A text that rank 0 closed can be opened as long as the job lives.
// pmix_envelope.cpp defines the function.
std::unique_ptr<SecretEnvelope> pmix_envelope();

// Makes an envelope that only processes of this user on this host can open, as long as it lives: a
// file in /dev/shm or /tmp.
std::unique_ptr<SecretEnvelope> file_envelope();

}  // namespace lockstep::comm
