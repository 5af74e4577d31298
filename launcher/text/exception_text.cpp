// SPDX-License-Identifier: Apache-2.0
#include "launcher/text/exception_text.hpp"

#include <new>
#include <stdexcept>
#include <system_error>

#include "runtime/core/error.hpp"
#include "runtime/core/out_of_memory.hpp"
#include "runtime/core/printable.hpp"

namespace lockstep::launcher {

std::string exception_text(const std::exception& exception) {
    // length_error means a size larger than any memory.
    if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr ||
        dynamic_cast<const std::length_error*>(&exception) != nullptr)
        return std::string(out_of_memory_text) +
               ", or let lockstep plan with the same options and --fit auto look for options with "
               "which it fits";
    const auto* refused = dynamic_cast<const std::system_error*>(&exception);
    if (refused != nullptr && refused->code() == std::errc::resource_unavailable_try_again)
        return "no further thread can be started here (ulimit -u, or the control group's "
               "pids.max); raise the limit, or take fewer ranks, --threads or --num-workers";
    if (dynamic_cast<const Error*>(&exception) != nullptr || refused != nullptr)
        return printable(exception.what());
    // A library's text names its own functions, which say nothing to a user.
    const std::string what = exception.what();
    const std::size_t end = what.starts_with('[') ? what.find("] ") : std::string::npos;
    return "an unexpected failure inside Lockstep (" +
           printable(end == std::string::npos ? what : what.substr(end + 2)) +
           "); please report it with the command";
}

}  // namespace lockstep::launcher
