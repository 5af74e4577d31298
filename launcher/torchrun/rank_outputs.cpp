// SPDX-License-Identifier: Apache-2.0
#include "launcher/torchrun/rank_outputs.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/failure_reason.hpp"
#include "runtime/core/system_failure.hpp"

namespace lockstep::launcher {

namespace {

// A full disk or a closed console stops only this copy, never the ranks. Returns 0 or an errno.
int write_all(int descriptor, std::string_view bytes) noexcept {
    while (!bytes.empty()) {
        const auto count = ::write(descriptor, bytes.data(), bytes.size());
        if (count <= 0 && errno != EINTR) return count == 0 ? EIO : errno;
        if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return 0;
}

bool is_regular(const FileDescriptor& file) noexcept {
    struct stat status {};
    return ::fstat(file.raw(), &status) == 0 && S_ISREG(status.st_mode);
}

// Of two launchers that write to one file, what one writes would be lost. The lock is the
// launcher's alone: what a rank leaves behind may have the file open for long.
FileDescriptor claim_of(const std::string& path) {
    FileDescriptor lock(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!lock || ::flock(lock.raw(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return lock;
    throw Error(ErrorKind::config, "--log-dir: " + path +
                                       ": another program writes there at this moment; wait for "
                                       "its end, or give another folder");
}

void require_short(const std::string& prefix) {
    constexpr std::size_t longest = 4096;
    if (prefix.size() <= longest) return;
    throw Error(ErrorKind::config, "--log-line-prefix-template: makes a text of more than " +
                                       std::to_string(longest) +
                                       " bytes before each line; give a shorter one");
}

// Expands torchrun's macros, whose values are also in the rank's environment.
std::string prefix_of(const LaunchPlan& plan, int local) {
    const std::array<std::pair<std::string, std::string>, 4> macros{{
        {"${rank}", std::to_string(plan.node_rank * plan.ranks_per_node + local)},
        {"${local_rank}", std::to_string(local)},
        {"${role_name}", plan.role},
        {"${hostname}", comm::host_name()},
    }};
    std::string text = plan.line_prefix;
    require_short(text);
    for (const auto& [macro, value] : macros) {
        // The value itself may contain a macro, so the search goes on behind it.
        for (auto at = text.find(macro); at != std::string::npos;
             at = text.find(macro, at + value.size())) {
            text.replace(at, macro.size(), value);
            require_short(text);
        }
    }
    return text;
}

}  // namespace

RankOutputs::RankOutputs(const LaunchPlan& plan, int attempt)
    : stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!stop_) throw_errno("cannot make an event", "distributed_launch");
    for (int local = 0; local < plan.ranks_per_node; ++local) {
        const std::string rank = std::to_string(plan.node_rank * plan.ranks_per_node + local);
        const std::string folder =
            plan.log_folder.empty()
                ? ""
                : plan.log_folder + "/attempt_" + std::to_string(attempt) + "/rank_" + rank;
        const std::string prefix = prefix_of(plan, local);
        const StreamSinks sinks = plan.sinks[static_cast<std::size_t>(local)];
        outputs_.push_back(open_sink(sinks.output, STDOUT_FILENO, prefix, folder, "stdout.log"));
        errors_.push_back(open_sink(sinks.error, STDERR_FILENO, prefix, folder, "stderr.log"));
    }
    if (!copies_.empty()) start();
}

RankOutputs::~RankOutputs() {
    if (!thread_.joinable()) return;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(stop_.raw(), &one, sizeof one);
    thread_.join();
}

void RankOutputs::connect(std::vector<ProcessSpec>& processes) const {
    for (std::size_t local = 0; local < processes.size(); ++local) {
        processes[local].standard_output = outputs_[local];
        processes[local].standard_error = errors_[local];
    }
}

int RankOutputs::open_sink(Sink sink, int console, const std::string& prefix,
                           const std::string& folder, const char* name) {
    if (sink == Sink::inherited) return -1;
    if (sink == Sink::nowhere) {
        kept_.emplace_back(::open("/dev/null", O_WRONLY | O_CLOEXEC));
        if (!kept_.back()) throw_errno("cannot open", "/dev/null");
        return kept_.back().raw();
    }
    int file = -1;
    if (!folder.empty()) {
        kept_.push_back(open_file(folder, name));
        file = kept_.back().raw();
    }
    if (sink == Sink::file) return file;
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw_errno("cannot make a pipe", "--tee");
    kept_.emplace_back(ends[1]);
    copies_.push_back({FileDescriptor(ends[0]), file, console, prefix, "", folder + "/" + name});
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return ends[1];
}

FileDescriptor RankOutputs::open_file(const std::string& folder, const char* name) {
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    if (failure)
        throw SystemFailure(
            "--log-dir: " + folder + ": cannot be made: " + writing_failure_reason(failure.value()),
            failure.value());
    const std::string path = folder + "/" + name;
    // Another user's link would choose the file that is emptied here, and a pipe would wait.
    const std::filesystem::path of_rank(folder);
    for (const auto& part : {of_rank.parent_path(), of_rank})
        if (std::filesystem::is_symlink(part, failure))
            throw Error(ErrorKind::config, "--log-dir: " + part.string() +
                                               " is a link; remove it, or give another folder");
    FileDescriptor file(::open(
        path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666));
    const bool special = file ? !is_regular(file) : errno == ELOOP || errno == ENXIO;
    if (special)
        throw Error(
            ErrorKind::config,
            "--log-dir: " + path + " is no regular file; remove it, or give another folder");
    if (file) kept_.push_back(claim_of(path));
    if (!file || ::ftruncate(file.raw(), 0) != 0) throw_errno("--log-dir: cannot write", path);
    return file;
}

// Blocks all signals while the thread starts, because threads inherit the mask. The launcher's
// signals must reach the thread that waits for them.
void RankOutputs::start() {
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before);
    thread_ = std::thread([this] { copy_until_stopped(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// The pipes' write ends stay open here, and perhaps in processes that a rank left behind. So the
// loop ends by a message and not at the end of the streams.
void RankOutputs::copy_until_stopped() {
    std::vector<pollfd> entries{{stop_.raw(), POLLIN, 0}};
    for (const Copy& copy : copies_) entries.push_back({copy.source.raw(), POLLIN, 0});
    for (bool stopped = false; !stopped;) {
        ::poll(entries.data(), entries.size(), -1);
        stopped = (entries.front().revents & POLLIN) != 0;
        for (Copy& copy : copies_) {
            while (copy_some(copy) && stopped) {
            }
        }
    }
    for (Copy& copy : copies_) {
        if (copy.line.empty()) continue;
        copy.line += '\n';
        show_lines(copy);
    }
}

// Returns false when there was nothing to read.
bool RankOutputs::copy_some(Copy& copy) {
    std::array<char, 16384> buffer;
    const auto count = ::read(copy.source.raw(), buffer.data(), buffer.size());
    if (count <= 0) return false;
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
    if (copy.file >= 0) keep(copy, bytes);
    copy.line += bytes;
    show_lines(copy);
    return true;
}

// A file that cannot be written is told of once, and tried again for the next bytes.
void RankOutputs::keep(Copy& copy, std::string_view bytes) {
    const int failure = write_all(copy.file, bytes);
    if (failure == 0 || std::exchange(copy.told_of_failure, true)) return;
    write_all(STDERR_FILENO, "distributed_launch: --log-dir: " + copy.path +
                                 " cannot be written: " + std::generic_category().message(failure) +
                                 "; the ranks go on without it\n");
}

// Writes whole lines at once, so that other ranks' lines do not come between.
void RankOutputs::show_lines(Copy& copy) {
    constexpr std::size_t longest = 1 << 20;
    if (copy.line.size() > longest) copy.line += '\n';
    std::string shown;
    std::size_t from = 0;
    for (auto end = copy.line.find('\n'); end != std::string::npos;
         end = copy.line.find('\n', from)) {
        shown += copy.prefix;
        shown.append(copy.line, from, end + 1 - from);
        from = end + 1;
    }
    copy.line.erase(0, from);
    (void)write_all(copy.console, shown);
}

}  // namespace lockstep::launcher
