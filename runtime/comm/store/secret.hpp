// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/comm/net/environment.hpp"

namespace lockstep::comm {

// What the ranks of one job share and nobody else knows. Travels in the environment or in a file:
// command lines are public on every host.
class Secret {
public:
    static constexpr const char* variable = "LOCKSTEP_SECRET";

    Secret() = default;  // none: the store then listens on loopback only
    explicit Secret(std::string text) : text_(std::move(text)) {}

    static Secret from(const Environment& environment);
    // The file's first line. Throws a config error where it is empty or others may read it.
    static Secret from_file(const std::string& path);
    // 256 random bits.
    static Secret make();

    // Another secret for each job that uses this one; itself for the empty job.
    Secret of_job(const std::string& job) const {
        return job.empty() ? *this : Secret(text_ + "\njob " + job);
    }

    bool empty() const noexcept { return text_.empty(); }
    // For a child's environment; never print it.
    const std::string& text() const noexcept { return text_; }

private:
    std::string text_;
};

}  // namespace lockstep::comm
