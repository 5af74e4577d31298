// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

namespace lockstep::comm {

// Environment variables by name; a value, so that tests need not touch the process's own.
using Environment = std::map<std::string, std::string>;

// A copy of the process's environment.
Environment process_environment();

}  // namespace lockstep::comm
