// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/environment/environment.hpp"

#include <unistd.h>

namespace lockstep::comm {

Environment process_environment() {
    Environment result;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string text(*entry);
        const auto equals = text.find('=');
        if (equals != std::string::npos) result[text.substr(0, equals)] = text.substr(equals + 1);
    }
    return result;
}

}  // namespace lockstep::comm
