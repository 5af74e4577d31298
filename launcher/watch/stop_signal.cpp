// SPDX-License-Identifier: Apache-2.0
#include "launcher/watch/stop_signal.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <future>
#include <utility>

#include "launcher/text/terminal.hpp"
#include "launcher/watch/on_thread.hpp"
#include "runtime/core/error.hpp"
#include "runtime/core/ignored_signal.hpp"
#include "runtime/core/signal_name.hpp"

namespace lockstep::launcher {

namespace {

sigset_t stop_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);  // submitit sends it on Slurm's warning
    sigaddset(&set, SIGXCPU);  // the soft limit on processor time: `ulimit -t`, LSF, Grid Engine
    // A closed terminal or a lost ssh connection sends HUP.
    if (!is_ignored(SIGHUP)) sigaddset(&set, SIGHUP);
    return set;
}

std::string stopping_text(int signal) {
    const std::string work = "the current step is finished and a checkpoint is written";
    if (signal == SIGINT)
        return "stopping: " + work + "; press Ctrl-C again to stop at once, without it";
    return "stopping at " + signal_name(signal) + ": " + work;
}

}  // namespace

StopSignal::StopSignal() {
    const sigset_t set = stop_signals();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    signals_ = signalfd(-1, &set, SFD_CLOEXEC);
    wake_ = eventfd(0, EFD_CLOEXEC);
    if (signals_ < 0 || wake_ < 0) throw_errno("cannot watch for signals", "signalfd");
    thread_ = std::thread([this] { watch(); });
}

StopSignal::~StopSignal() {
    const std::uint64_t one = 1;
    if (write(wake_, &one, sizeof one) == sizeof one) thread_.join();
    close(signals_);
    close(wake_);
}

void StopSignal::tell(std::function<std::string()> last_checkpoint) {
    const std::lock_guard lock(telling_);
    last_checkpoint_ = std::move(last_checkpoint);
    if (first_ != 0) print_at_once(stopping_text(first_));
}

void StopSignal::received(int signal) {
    const std::lock_guard lock(telling_);
    if (first_ == 0 && last_checkpoint_) print_at_once(stopping_text(signal));
    if (first_ == 0) first_ = signal;
}

void StopSignal::begin_wait(std::function<std::string(int)> line) {
    const std::lock_guard lock(telling_);
    waiting_ = std::move(line);
}

void StopSignal::end_wait() {
    const std::lock_guard lock(telling_);
    waiting_ = nullptr;
}

int StopSignal::patience_ms() {
    constexpr int moment_ms = 1'000;
    const std::lock_guard lock(telling_);
    return waiting_ && requested_ ? moment_ms : -1;
}

void StopSignal::end_waiting_process() {
    const std::lock_guard lock(telling_);
    if (!waiting_) return;
    const std::string line = first_ == 0 ? "" : waiting_(first_);
    if (!line.empty()) print_at_once(line);
    ::_exit(code_of_stop(signal_));
}

// Nothing here may wait for ever: the user insists, perhaps because a file system hangs.
void StopSignal::end_at_once() {
    constexpr std::chrono::milliseconds longest(500);
    if (const std::lock_guard lock(telling_); last_checkpoint_) {
        std::future<std::string> last = on_thread(last_checkpoint_);
        const bool known = last.wait_for(longest) != std::future_status::timeout;
        print_at_once("stopped at once at the second Ctrl-C" + (known ? "; " + last.get() : ""));
    }
    const sigset_t set = stop_signals();
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    std::signal(SIGINT, SIG_DFL);
    raise(SIGINT);
    ::_exit(128 + SIGINT);
}

void StopSignal::watch() {
    pollfd watched[2] = {{signals_, POLLIN, 0}, {wake_, POLLIN, 0}};
    for (int interrupts = 0;;) {
        const int ready = poll(watched, 2, patience_ms());
        if (ready == 0) end_waiting_process();
        if (ready <= 0) continue;
        if (watched[1].revents != 0) return;
        signalfd_siginfo info{};
        if (read(signals_, &info, sizeof info) != sizeof info) continue;
        const bool second = requested_;
        signal_ = static_cast<int>(info.ssi_signo);
        // A launcher queues the signal when another rank has failed; what it says is enough.
        if (info.ssi_code != SI_QUEUE) asked_ = true;
        requested_ = true;
        if (info.ssi_code != SI_QUEUE) received(static_cast<int>(info.ssi_signo));
        if (second) end_waiting_process();
        if (info.ssi_signo == SIGINT && ++interrupts == 2) end_at_once();
    }
}

int code_of_stop(int signal) noexcept {
    return signal == SIGUSR1 || signal == SIGUSR2 ? 0 : 128 + signal;
}

}  // namespace lockstep::launcher
