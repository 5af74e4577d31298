// SPDX-License-Identifier: Apache-2.0
#include "launcher/ladder/trial_run.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "launcher/model_folder/model_folder.hpp"
#include "launcher/processes/lockstep_command.hpp"
#include "launcher/processes/process_group.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/file_descriptor.hpp"
#include "runtime/core/read_file.hpp"
#include "runtime/files/durable_files.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/folder/atomic_file.hpp"

namespace lockstep::launcher::ladder {

namespace fs = std::filesystem;

namespace {

fs::path temporary_folder() {
    std::error_code none;
    std::string name = (fs::temp_directory_path(none) / "lockstep-ladder-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
        throw_errno("no folder can be made; give -mf DIR or set TMPDIR", name);
    return name;
}

std::string last_line(const std::string& text) {
    std::istringstream lines(text);
    std::string last;
    for (std::string line; std::getline(lines, line);) {
        if (!line.empty()) last = line;
    }
    return last;
}

}  // namespace

RunFolders::RunFolders(const std::string& kept)
    : life_(kept.empty() ? Life::temporary : Life::kept),
      path_(kept.empty() ? temporary_folder() : fs::path(kept)) {
    if (life_ == Life::temporary) return;
    require_writable(kept);
    make_folders(kept);
    std::error_code closed;
    if (!fs::is_empty(path_, closed))
        throw Error(ErrorKind::config, "-mf " + kept +
                                           ": is not empty; the ladder's runs need a folder of "
                                           "their own");
}

RunFolders::~RunFolders() {
    std::error_code ignored;
    if (life_ == Life::temporary)
        fs::remove_all(path_, ignored);
    else
        fs::remove(path_, ignored);  // succeeds only when it is empty: nothing was measured
}

void RunFolders::measured(const std::string& name) const {
    std::error_code ignored;
    if (life_ == Life::temporary) fs::remove_all(of(name), ignored);
}

Attempt run_trial(const std::vector<std::string>& command, const std::string& folder) {
    make_folders(folder);
    const std::string log = folder + "/output.log";
    const FileDescriptor out(::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!out) throw_errno("cannot be written", log);
    const ProcessSpec process{with_own_binary(command), comm::process_environment(), out.raw(),
                              out.raw()};
    const GroupResult result = run_process_group({process}, GroupOptions());
    Attempt attempt;
    attempt.signal = result.signal;
    if (result.failed_rank < 0 && result.signal == 0) {
        attempt.measured = read_measurement(folder);
    } else {
        const std::string said = last_line(read_file(log));
        attempt.failure = said.empty() ? "exit code " + std::to_string(result.status) : said;
    }
    return attempt;
}

}  // namespace lockstep::launcher::ladder
