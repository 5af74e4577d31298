// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/folder/lock_owner.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/core/json_text.hpp"
#include "runtime/core/read_file.hpp"
#include "runtime/core/system_failure.hpp"
#include "runtime/files/hash.hpp"

namespace lockstep::train {
namespace {

struct ProcessState {
    char state = '?';
    std::int64_t start_ticks = 0;
};

// Reads state and starttime, fields 3 and 22 of /proc/PID/stat (see proc(5)). The name in field 2
// may contain blanks and brackets, so the fields are counted from its last bracket. Returns nothing
// if /proc shows no such process.
std::optional<ProcessState> look_up(std::int64_t pid) {
    constexpr int fields_between = 18;
    std::string text;
    try {
        text = read_file("/proc/" + std::to_string(pid) + "/stat");
    } catch (const SystemFailure& failure) {
        if (failure.code() == ENOENT || failure.code() == ESRCH) return std::nullopt;
        throw;
    }
    std::istringstream fields(text.substr(text.rfind(')') + 1));
    ProcessState found;
    fields >> found.state;
    std::string skipped;
    for (int i = 0; i < fields_between; ++i) fields >> skipped;
    fields >> found.start_ticks;
    return found;
}

std::string line_of(const std::string& path) {
    std::string text = read_file(path);
    while (text.ends_with('\n')) text.pop_back();
    return text;
}

// Returns an empty text where /proc is not mounted, or shows little, as in some containers.
std::string boot_id() {
    try {
        return line_of("/proc/sys/kernel/random/boot_id");
    } catch (const Error&) {
        return "";
    }
}

std::string namespace_of(const std::string& kind) {
    std::error_code failure;
    return std::filesystem::read_symlink("/proc/self/ns/" + kind, failure).string();
}

std::string host_name() {
    std::array<char, 256> text{};
    return ::gethostname(text.data(), text.size() - 1) == 0 ? text.data() : "localhost";
}

// A container chooses its own host name and often has no machine-id, so two of them may look like
// one machine. The kernel gives the number PROC_UTS_INIT_INO to the machine's own host name.
std::string machine_name() {
    if (namespace_of("uts") != "uts:[4026531838]" || host_name() == "localhost") return "";
    try {
        const std::string id = line_of("/etc/machine-id");
        return id.empty() ? "" : host_name() + " " + id;
    } catch (const Error&) {
        return "";
    }
}

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

std::string slurm_job() {
    const std::string job = variable("SLURM_JOB_ID"), cluster = variable("SLURM_CLUSTER_NAME");
    return job.empty() || cluster.empty() ? job : job + " of " + cluster;
}

// Slurm sets the number only for a job that has started again.
std::int64_t slurm_restarts() {
    const std::string text = variable("SLURM_RESTART_COUNT");
    std::int64_t count = 0;
    std::from_chars(text.data(), text.data() + text.size(), count);
    return count;
}

std::string utc_now() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    std::array<char, 32> text{};
    const auto length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return {text.data(), length};
}

// Requires the owner's process numbers to be those of this process.
OwnerState ask(const LockOwner& owner) {
    const auto found = look_up(owner.pid);
    if (!found) {
        // A /proc that is mounted with hidepid does not show other users' processes.
        const bool none = ::kill(static_cast<pid_t>(owner.pid), 0) != 0 && errno == ESRCH;
        return none ? OwnerState::gone : OwnerState::cannot_be_asked;
    }
    if (found->start_ticks != owner.start_ticks) return OwnerState::gone;
    // A killed process that its parent has not waited for writes nothing any more.
    const bool dead = found->state == 'Z' || found->state == 'X';
    return dead ? OwnerState::gone : OwnerState::alive;
}

// Another text would lead out of the folder where a file is named after the run.
bool is_random_name(const std::string& text) {
    return text.size() == hex(std::uint64_t{0}).size() &&
           text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

LockOwner this_process() {
    LockOwner owner;
    owner.run = random_name();
    owner.host = host_name();
    owner.machine = machine_name();
    owner.boot_id = boot_id();
    owner.pid_namespace = namespace_of("pid");
    owner.pid = ::getpid();
    owner.start_ticks = look_up(owner.pid).value_or(ProcessState{}).start_ticks;
    owner.since = utc_now();
    owner.job = slurm_job();
    owner.job_restarts = slurm_restarts();
    return owner;
}

std::string to_json(const LockOwner& owner) {
    constexpr int digits = 12;
    std::string beats = std::to_string(owner.beats);
    beats.insert(0, digits - std::min<std::size_t>(digits, beats.size()), '0');
    const nlohmann::ordered_json json = {{"run", owner.run},
                                         {"host", owner.host},
                                         {"pid", owner.pid},
                                         {"since", owner.since},
                                         {"job", owner.job},
                                         {"job_restarts", owner.job_restarts},
                                         {"machine", owner.machine},
                                         {"boot_id", owner.boot_id},
                                         {"pid_namespace", owner.pid_namespace},
                                         {"start_ticks", owner.start_ticks},
                                         {"beats", beats}};
    return dump_json(json, 1) + "\n";
}

std::optional<LockOwner> owner_from(const std::string& text) {
    const auto json = try_parse_json(text);
    if (!json.is_object()) return std::nullopt;
    try {
        LockOwner owner;
        json.at("run").get_to(owner.run);
        if (!is_random_name(owner.run)) return std::nullopt;
        json.at("host").get_to(owner.host);
        json.at("pid").get_to(owner.pid);
        json.at("since").get_to(owner.since);
        json.at("job").get_to(owner.job);
        json.at("job_restarts").get_to(owner.job_restarts);
        json.at("machine").get_to(owner.machine);
        json.at("boot_id").get_to(owner.boot_id);
        json.at("pid_namespace").get_to(owner.pid_namespace);
        json.at("start_ticks").get_to(owner.start_ticks);
        const auto beats = json.at("beats").get<std::string>();
        std::from_chars(beats.data(), beats.data() + beats.size(), owner.beats);
        return owner;
    } catch (const nlohmann::json::exception&) {
        return std::nullopt;
    }
}

OwnerState state_of(const LockOwner& owner, const LockOwner& self) {
    const bool known = !owner.boot_id.empty() && !self.boot_id.empty();
    const bool same_boot = known && owner.boot_id == self.boot_id;
    const OwnerState asked =
        same_boot && !owner.pid_namespace.empty() && owner.pid_namespace == self.pid_namespace
            ? ask(owner)
            : OwnerState::cannot_be_asked;
    if (asked == OwnerState::gone) return asked;
    const bool rebooted =
        known && !same_boot && !self.machine.empty() && owner.machine == self.machine;
    if (rebooted) return OwnerState::gone;
    const bool requeued =
        !owner.job.empty() && owner.job == self.job && self.job_restarts > owner.job_restarts;
    return requeued ? OwnerState::requeued : asked;
}

std::string name(const LockOwner& owner) {
    return "process " + std::to_string(owner.pid) + " on " + owner.host +
           (owner.job.empty() ? "" : " (job " + owner.job + ")");
}

std::string random_name() {
    std::uint64_t value = 0;
    if (::getrandom(&value, sizeof value, 0) != sizeof value)
        throw_errno("gives no random number", "getrandom");
    return hex(value);
}

}  // namespace lockstep::train
