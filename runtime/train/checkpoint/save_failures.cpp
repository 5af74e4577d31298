// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/checkpoint/save_failures.hpp"

#include <cstring>
#include <utility>

#include "runtime/core/system_failure.hpp"

namespace lockstep::train {

SaveFailures::SaveFailures(std::string what, int max, Log& log)
    : what_(std::move(what)), max_(max), log_(log) {}

void SaveFailures::bear(const std::string& which, const std::function<void()>& save,
                        const std::function<std::string()>& remains) {
    try {
        save();
        saved();
    } catch (const SystemFailure& failure) {
        const char* code = ::strerrorname_np(failure.code());
        last_ = what_ + " " + which + " is not saved (" + (code == nullptr ? "no errno" : code) +
                "): " + failure.what() + "; " + remains();
        ++in_a_row_;
        if (max_ > 0 && in_a_row_ >= max_)
            throw Error(ErrorKind::io, last_ + "; the run ends after " + std::to_string(in_a_row_) +
                                           " failures in a row (--max-save-failures)");
        log_.error("warning: " + last_ + "; training goes on, and the next save tries again");
    }
}

void SaveFailures::require_none() const {
    if (!last_.empty()) throw Error(ErrorKind::io, last_);
}

}  // namespace lockstep::train
