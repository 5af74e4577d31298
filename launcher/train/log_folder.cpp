// SPDX-License-Identifier: Apache-2.0
#include "launcher/train/log_folder.hpp"

#include <filesystem>
#include <system_error>

#include "launcher/command_line/output_file.hpp"
#include "launcher/model_folder/model_files.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

// The log is opened before the run makes its folder, and may be a file in it.
void make_folder_of_log(const RunConfig& launch, int rank) {
    namespace fs = std::filesystem;
    if (launch.log_file.empty()) return;
    require_file_name("--log-file", launch.log_file);
    require_other_file("--log-file", launch.log_file, launch.model_file);
    if (rank != 0) return;
    std::error_code unknown;
    const fs::path folder = fs::weakly_canonical(fs::absolute(launch.model_file, unknown), unknown);
    const fs::path log = fs::weakly_canonical(fs::absolute(launch.log_file, unknown), unknown);
    if (log == folder || log / "" == folder)
        throw Error(ErrorKind::config, "--log-file " + launch.log_file +
                                           ": is the model's folder; name a file in it, or "
                                           "elsewhere");
    if (log.parent_path() == folder || log.parent_path() / "" == folder)
        fs::create_directories(folder, unknown);  // the log tells of a failure
}

}  // namespace lockstep::launcher
