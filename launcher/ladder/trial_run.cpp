// SPDX-License-Identifier: Apache-2.0
#include "launcher/ladder/trial_run.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "launcher/model_folder/model_folder.hpp"
#include "launcher/processes/lockstep_command.hpp"
#include "launcher/processes/process_group.hpp"
#include "launcher/text/line_time.hpp"
#include "launcher/text/output_reader.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/file_descriptor.hpp"
#include "runtime/core/read_file.hpp"
#include "runtime/files/durable_files.hpp"
#include "runtime/files/path_status.hpp"
#include "runtime/train/folder/atomic_file.hpp"

namespace lockstep::launcher::ladder {

namespace fs = std::filesystem;

namespace {

// A TMPDIR that is not there, or not writable, is passed over: clusters set it to a disk of the
// job, and containers have no such disk.
fs::path temporary_folder() {
    std::error_code none;
    for (const fs::path& place : {fs::temp_directory_path(none), fs::path("/tmp"),
                                  fs::path("/var/tmp"), fs::path("/dev/shm")}) {
        std::string name = (place / "lockstep-ladder-XXXXXX").string();
        if (!place.empty() && ::mkdtemp(name.data()) != nullptr) return name;
    }
    throw_errno("no folder can be made for the trial runs; give -mf DIR or set TMPDIR", "ladder");
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
    comm::Environment environment = comm::process_environment();
    environment.erase(log_times_variable);  // the reason of a failure is read from the lines
    const ProcessSpec process{with_own_binary(command), environment, out.raw(), out.raw()};
    Attempt attempt;
    GroupOptions options;
    options.asked_to_end = nobody_reads_output;
    if (nobody_reads_output()) {
        attempt.signal = SIGPIPE;
        return attempt;
    }
    const GroupResult result = run_process_group({process}, options);
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
