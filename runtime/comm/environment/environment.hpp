// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

namespace lockstep::comm {

// An environment maps variables to their texts. It is a value, so that tests need not change the
// process's own.
using Environment = std::map<std::string, std::string>;

// Copies the process's environment.
Environment process_environment();

}  // namespace lockstep::comm
