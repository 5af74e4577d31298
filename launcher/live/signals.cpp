// SPDX-License-Identifier: Apache-2.0
#include "launcher/live/signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

#include "runtime/core/error.hpp"
#include "runtime/core/ignored_signal.hpp"

namespace lockstep::launcher::live {

FileDescriptor watched_signals(std::initializer_list<int> others) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    if (!is_ignored(SIGHUP)) sigaddset(&set, SIGHUP);
    for (const int signal : others) sigaddset(&set, signal);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    FileDescriptor signals(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals) throw_errno("cannot watch for signals", "signalfd");
    return signals;
}

int next_signal(const FileDescriptor& signals) {
    signalfd_siginfo info{};
    const bool came = ::read(signals.raw(), &info, sizeof info) == sizeof info;
    return came ? static_cast<int>(info.ssi_signo) : 0;
}

}  // namespace lockstep::launcher::live
