// SPDX-License-Identifier: Apache-2.0
#include "launcher/processes/process_group.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include "launcher/processes/openmp_wait_policy.hpp"
#include "launcher/processes/process_start.hpp"
#include "runtime/comm/environment/started_ranks.hpp"
#include "runtime/comm/net/socket.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/ignored_signal.hpp"
#include "runtime/core/trace.hpp"

namespace lockstep::launcher {

namespace {

constexpr std::array forwarded_always = {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU};
constexpr std::array forwarded_unless_ignored = {SIGHUP, SIGQUIT};

// Turns signals into reads of a descriptor during its lifetime and blocks them meanwhile. Children
// must get the mask `before()`.
class SignalSource {
public:
    SignalSource() {
        sigset_t watched;
        ::sigemptyset(&watched);
        ::sigaddset(&watched, SIGCHLD);
        for (const int signal : forwarded_always) ::sigaddset(&watched, signal);
        for (const int signal : forwarded_unless_ignored) {
            if (!is_ignored(signal)) ::sigaddset(&watched, signal);
        }
        // A CHLD signal ignored by the parent process would be inherited, and the kernel would reap
        // the children without a report.
        struct sigaction usual {};
        usual.sa_handler = SIG_DFL;
        ::sigaction(SIGCHLD, &usual, &child_action_);
        descriptor_ = FileDescriptor(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
        if (!descriptor_) throw_errno("cannot watch for signals", "signalfd");
        ::pthread_sigmask(SIG_BLOCK, &watched, &before_);
    }
    ~SignalSource() {
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
        ::sigaction(SIGCHLD, &child_action_, nullptr);
    }
    SignalSource(const SignalSource&) = delete;
    SignalSource& operator=(const SignalSource&) = delete;

    const sigset_t& before() const noexcept { return before_; }

    // Returns the next signal, or 0 after `timeout_ms` (negative: no limit).
    int next(int timeout_ms) {
        signalfd_siginfo info{};
        if (::read(descriptor_.raw(), &info, sizeof info) == sizeof info) return signal_of(info);
        pollfd entry{descriptor_.raw(), POLLIN, 0};
        ::poll(&entry, 1, timeout_ms);
        const auto got = ::read(descriptor_.raw(), &info, sizeof info);
        return got == sizeof info ? signal_of(info) : 0;
    }

private:
    static int signal_of(const signalfd_siginfo& info) noexcept {
        return static_cast<int>(info.ssi_signo);
    }

    FileDescriptor descriptor_;
    sigset_t before_{};
    struct sigaction child_action_ {};
};

// Holds the running processes. None survives this object.
class Children {
public:
    ~Children() {
        kill_all();
        for (const pid_t pid : pids_) {
            if (pid > 0) ::waitpid(pid, nullptr, 0);
        }
    }

    void add(pid_t pid) { pids_.push_back(pid); }
    bool any() const {
        return std::any_of(pids_.begin(), pids_.end(), [](pid_t pid) { return pid > 0; });
    }
    // Requests go to the ranks only. They must end the processes that they started themselves.
    void ask_all(int signal) const noexcept {
        for (const pid_t pid : pids_) {
            if (pid > 0) ::kill(pid, signal);
        }
    }
    // Ends the ranks because one has failed. A queued signal has another code than kill's, so they
    // do not take it for somebody's request.
    void end_all() const noexcept {
        for (const pid_t pid : pids_) {
            if (pid > 0) ::sigqueue(pid, SIGTERM, sigval{});
        }
    }
    // Kills the ranks and everything that they have started.
    void kill_all() const noexcept {
        for (const pid_t pid : pids_) {
            if (pid > 0) ::kill(-pid, SIGKILL);
        }
    }

    struct Ended {
        int rank;
        int status;
    };
    std::optional<Ended> reap() {
        for (std::size_t rank = 0; rank < pids_.size(); ++rank) {
            if (pids_[rank] <= 0) continue;
            siginfo_t info{};
            const auto id = static_cast<id_t>(pids_[rank]);
            if (::waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
                continue;
            }
            // The number of a process that is not reaped cannot name another group, so it is safe
            // to kill what the rank left behind.
            ::kill(-pids_[rank], SIGKILL);
            ::waitpid(pids_[rank], nullptr, 0);
            pids_[rank] = 0;
            const int status = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
            return Ended{static_cast<int>(rank), status};
        }
        return std::nullopt;
    }

private:
    std::vector<pid_t> pids_;  // index: rank; 0: ended
};

// Records what has happened to the group and decides what happens to the processes that still run.
class Supervision {
public:
    Supervision(Children& children, const GroupOptions& options)
        : children_(children), options_(options) {}

    void received(int signal) {
        if (signal == SIGUSR1 || signal == SIGUSR2 || signal == SIGXCPU)
            return children_.ask_all(signal);
        // Schedulers may repeat TERM. Only a person who types Ctrl-C again wants no checkpoint.
        const bool second = result_.signal != 0 && signal == SIGINT;
        const bool first = result_.signal == 0;
        result_.signal = signal;
        if (second) return kill(KilledAtRequest::at_second_interrupt);
        children_.ask_all(signal);
        if (first && options_.on_request) options_.on_request(signal);
        if (signal == SIGQUIT)
            kill_in(options_.grace_ms);
        else if (options_.stop_grace_ms)
            kill_in(*options_.stop_grace_ms);
    }

    void ended(const Children::Ended& child) {
        if (child.status == 0) return;
        if (result_.failed_rank < 0) {
            record(child);
            children_.end_all();
            kill_in(options_.grace_ms);
        } else if (only_told_of_a_peer() && !by_our_hand(child.status)) {
            record(child);
        }
    }

    // Returns after which time there may be something to do; -1: only after a signal.
    int ms_to_look() const {
        if (!kill_at_) return asks() ? look_ms : -1;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(*kill_at_ - Clock::now());
        const int to_kill = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
        return asks() ? std::min(to_kill, look_ms) : to_kill;
    }

    void end_if_asked() {
        if (!asks() || !options_.asked_to_end()) return;
        received(SIGTERM);
        kill_in(options_.grace_ms);
    }

    void kill_when_due() {
        if (kill_at_ && Clock::now() >= *kill_at_) kill(KilledAtRequest::when_time_was_over);
    }

    const GroupResult& result() const noexcept { return result_; }

private:
    static constexpr int peer_failed = 3, look_ms = 500;

    bool asks() const { return options_.asked_to_end && result_.signal == 0; }

    // A rank that reports the failure of a peer may end before that peer does.
    bool only_told_of_a_peer() const noexcept { return result_.status == peer_failed; }
    bool by_our_hand(int status) const noexcept {
        return status == peer_failed || status == 128 + SIGTERM ||
               (killed_ && status == 128 + SIGKILL);
    }

    void record(const Children::Ended& child) {
        result_.failed_rank = child.rank;
        result_.status = child.status;
    }

    void kill_in(int milliseconds) {
        const auto at = Clock::now() + std::chrono::milliseconds(milliseconds);
        kill_at_ = kill_at_ ? std::min(*kill_at_, at) : at;
    }

    void kill(KilledAtRequest why) {
        children_.kill_all();
        if (result_.failed_rank < 0) result_.killed = why;
        killed_ = true;
        kill_at_.reset();
    }

    Children& children_;
    GroupOptions options_;
    GroupResult result_;
    std::optional<Clock::time_point> kill_at_;
    bool killed_ = false;
};

}  // namespace

int free_port() {
    const auto any = comm::resolve("127.0.0.1", 0).front();
    const auto listening = comm::listen_on(any);
    return comm::local_address_of(listening.socket).port();
}

std::vector<ProcessSpec> local_ranks(const LocalRanks& ranks, const comm::Environment& base) {
    std::vector<ProcessSpec> processes;
    const std::string size = std::to_string(ranks.size);
    const std::string port =
        std::to_string(ranks.master_port == 0 ? free_port() : ranks.master_port);
    const std::string threads = std::to_string(ranks.threads_per_rank);
    const comm::Environment inner = comm::without_outer_ranks(base, comm::SlurmTask::is_removed);
    for (int rank = 0; rank < ranks.size; ++rank) {
        ProcessSpec process;
        process.command = ranks.command;
        process.environment = inner;
        auto& variables = process.environment;
        variables["RANK"] = variables["LOCAL_RANK"] = std::to_string(rank);
        variables["WORLD_SIZE"] = variables["LOCAL_WORLD_SIZE"] = size;
        variables["MASTER_ADDR"] = "127.0.0.1";
        variables["MASTER_PORT"] = port;
        variables["OMP_NUM_THREADS"] = variables["LOCKSTEP_THREADS"] = threads;
        set_openmp_wait_policy(variables);
        if (!ranks.secret.empty()) variables[comm::Secret::variable] = ranks.secret.text();
        processes.push_back(std::move(process));
    }
    return processes;
}

GroupResult run_process_group(const std::vector<ProcessSpec>& processes,
                              const GroupOptions& options) {
    SignalSource signals;
    Children children;
    for (const auto& process : processes) children.add(start_process(process, signals.before()));
    Supervision supervision(children, options);
    while (true) {
        while (const auto child = children.reap()) supervision.ended(*child);
        if (!children.any()) return supervision.result();
        const int signal = signals.next(supervision.ms_to_look());
        if (signal != 0 && signal != SIGCHLD) supervision.received(signal);
        supervision.end_if_asked();
        supervision.kill_when_due();
    }
}

}  // namespace lockstep::launcher
