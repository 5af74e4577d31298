// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace lockstep::launcher::live {

// Returns the script of a page that is refreshed in place. It asks only the server of the page,
// every two seconds while the page can be seen, and puts the sections that have changed into it.
std::string_view live_script();

}  // namespace lockstep::launcher::live
