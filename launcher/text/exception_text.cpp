// SPDX-License-Identifier: Apache-2.0
#include "launcher/text/exception_text.hpp"

#include <new>
#include <stdexcept>
#include <system_error>

namespace lockstep::launcher {

std::string exception_text(const std::exception& exception) {
    // length_error means a size larger than any memory.
    if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr ||
        dynamic_cast<const std::length_error*>(&exception) != nullptr)
        return "out of memory; take a smaller batch (-bs, --batch-tokens) or model";
    const auto* refused = dynamic_cast<const std::system_error*>(&exception);
    if (refused != nullptr && refused->code() == std::errc::resource_unavailable_try_again)
        return "no further thread can be started here (ulimit -u, or the control group's "
               "pids.max); raise the limit, or take fewer ranks, --threads or --num-workers";
    return exception.what();
}

}  // namespace lockstep::launcher
