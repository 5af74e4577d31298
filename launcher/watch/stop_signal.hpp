// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace lockstep::launcher {

// Turns INT, TERM, HUP, USR1 and USR2 into a flag that the training loop reads. HUP is left alone
// if the process was started with HUP ignored (nohup). The object must be made before any other
// thread starts because threads inherit the blocked signals. A second INT ends the process at once.
// The first signal and the second INT are told in a line each, once tell() was called. A signal
// that was queued (sigqueue) is obeyed and not told.
class StopSignal {
public:
    StopSignal();
    ~StopSignal();
    StopSignal(const StopSignal&) = delete;
    StopSignal& operator=(const StopSignal&) = delete;

    const std::atomic<bool>& requested() const noexcept { return requested_; }

    // Makes this rank the one that tells, also of a signal that has come already. `last_checkpoint`
    // says from where the run could go on; it is called from other threads and may hang.
    void tell(std::function<std::string()> last_checkpoint);

    // The last signal; 0: none has come.
    int signal() const noexcept { return signal_; }
    // Whether a signal has come that was not queued.
    bool asked() const noexcept { return asked_; }

    // From now on a signal ends the process: at once if it is the second one, else unless
    // end_wait() follows within a second. What `line` returns for the first signal is told; empty:
    // nothing is.
    void begin_wait(std::function<std::string(int signal)> line);
    void end_wait();

private:
    void watch();
    // Milliseconds after which a signal that has come ends the process; -1: it does not.
    int patience_ms();
    void end_waiting_process();
    void received(int signal);
    [[noreturn]] void end_at_once();

    std::atomic<bool> requested_{false}, asked_{false};
    std::atomic<int> signal_{0};
    int signals_ = -1;  // signalfd
    int wake_ = -1;     // eventfd that ends the thread
    std::mutex telling_;
    std::function<std::string()> last_checkpoint_;  // guarded by telling_; empty: does not tell
    int first_ = 0;                                 // guarded by telling_; 0: no signal yet
    std::function<std::string(int)> waiting_;       // guarded by telling_; empty: does not wait
    std::thread thread_;
};

// Returns the exit code of a process that a signal has ended before it has begun to train: 128 and
// the signal, but 0 for USR1 and USR2, by which a scheduler announces the end of a job that goes on
// later.
int code_of_stop(int signal) noexcept;

}  // namespace lockstep::launcher
