// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "runtime/comm/environment/environment.hpp"

namespace lockstep::comm {

// The ranks of one job share a secret that nobody else knows. It travels in the environment or in a
// file, because command lines are public on every host.
class Secret {
public:
    static constexpr const char* variable = "LOCKSTEP_SECRET";

    Secret() = default;  // no secret was given: open_store() then makes one
    explicit Secret(std::string text) : text_(std::move(text)) {}

    // Reads the variable; none is no secret. Blanks at the end do not count. Throws kind config
    // when it is too short or repeats one character.
    static Secret from(const Environment& environment);
    // Reads the file's first line in the same way. Throws kind config in the same cases, when it is
    // longer than 4,095 characters, and when others may read the file.
    static Secret from_file(const std::string& path);
    // Makes a secret of 256 random bits.
    static Secret make();

    // Derives a different secret for each job that uses this one; an empty job gives the same
    // secret.
    Secret of_job(const std::string& job) const {
        return job.empty() ? *this : Secret(text_ + "\njob " + job);
    }

    bool empty() const noexcept { return text_.empty(); }
    // The text is meant for a child's environment; never print it.
    const std::string& text() const noexcept { return text_; }

private:
    std::string text_;
};

}  // namespace lockstep::comm
