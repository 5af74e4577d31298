// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "runtime/core/log.hpp"

namespace lockstep::train {

// Bears failures of the system while something is saved again and again, until too many follow one
// another.
//
//   SaveFailures failures("the checkpoint", 3, log);
//   failures.bear("of step 7", [&] { save(); }, newest);  // a warning, if save() fails
//   failures.require_none();                              // an error, if the last one failed
class SaveFailures {
public:
    // `what` is saved. `max` failures in a row end the run; -1: any number is borne.
    SaveFailures(std::string what, int max, Log& log);

    // Calls `save`. A SystemFailure is told in one warning; the last one that is borne throws kind
    // io, and so does require_none() after a failure. `remains` says what is still good then. Other
    // errors are passed on.
    void bear(const std::string& which, const std::function<void()>& save,
              const std::function<std::string()>& remains);
    void require_none() const;
    // Says that what could not be saved is saved now.
    void saved() {
        in_a_row_ = 0;
        last_.clear();
    }

private:
    std::string what_;
    int max_;
    Log& log_;
    int in_a_row_ = 0;
    std::string last_;  // the last failure; empty: the last save succeeded
};

}  // namespace lockstep::train
