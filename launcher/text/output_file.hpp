// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lockstep::launcher {

// For a file of JSON that is written when all is done, which is too late to find out: throws an
// error that names the option where no file can be written at `path`, and where something else
// would be lost. A file may be replaced that is empty, or whose object begins with `first_key` as
// such files do. An empty path is fine.
void require_output_file(const std::string& option, const std::string& path,
                         std::string_view first_key);

}  // namespace lockstep::launcher
