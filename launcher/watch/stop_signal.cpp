// SPDX-License-Identifier: Apache-2.0
#include "launcher/watch/stop_signal.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>

#include "runtime/core/error.hpp"
#include "runtime/core/ignored_signal.hpp"

namespace lockstep::launcher {

namespace {

sigset_t stop_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);  // submitit sends it on Slurm's warning
    // A closed terminal or a lost ssh connection sends HUP.
    if (!is_ignored(SIGHUP)) sigaddset(&set, SIGHUP);
    return set;
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

void StopSignal::watch() {
    pollfd watched[2] = {{signals_, POLLIN, 0}, {wake_, POLLIN, 0}};
    for (int interrupts = 0;;) {
        if (poll(watched, 2, -1) < 0) continue;
        if (watched[1].revents != 0) return;
        signalfd_siginfo info{};
        if (read(signals_, &info, sizeof info) != sizeof info) continue;
        requested_ = true;
        if (info.ssi_signo == SIGINT && ++interrupts == 2) {
            // The user insists, so the default action must end the process.
            const sigset_t set = stop_signals();
            pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
            raise(SIGINT);
        }
    }
}

}  // namespace lockstep::launcher
