// SPDX-License-Identifier: Apache-2.0
#include "launcher/text/exit_code.hpp"

#include "launcher/text/already_told.hpp"
#include "launcher/text/unwritten_answer.hpp"
#include "runtime/core/system_failure.hpp"

namespace lockstep::launcher {

int exit_code(const Error& error) noexcept {
    if (const auto* told = dynamic_cast<const AlreadyTold*>(&error)) return told->code();
    if (dynamic_cast<const UnwrittenAnswer*>(&error) != nullptr) return 1;
    if (dynamic_cast<const TransientFailure*>(&error) != nullptr) return 1;
    const auto* system = dynamic_cast<const SystemFailure*>(&error);
    if (system != nullptr && is_transient(system->code())) return 1;
    switch (error.kind()) {
        case ErrorKind::config:
        case ErrorKind::data:
        case ErrorKind::io:
        case ErrorKind::launch:
            return 2;
        case ErrorKind::peer:
            return 3;
        default:
            return 1;
    }
}

}  // namespace lockstep::launcher
