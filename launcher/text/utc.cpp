// SPDX-License-Identifier: Apache-2.0
#include "launcher/text/utc.hpp"

#include <ctime>
#include <iomanip>
#include <sstream>

namespace lockstep::launcher {

std::string utc(std::chrono::system_clock::time_point time) {
    const std::time_t whole = std::chrono::system_clock::to_time_t(time);
    std::tm parts{};
    gmtime_r(&whole, &parts);
    std::ostringstream text;
    text << std::put_time(&parts, "%FT%TZ");
    return text.str();
}

}  // namespace lockstep::launcher
