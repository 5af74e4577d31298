// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "launcher/watch/stop_signal.hpp"
#include "runtime/comm/environment/rank_info.hpp"
#include "runtime/core/error.hpp"

namespace lockstep::launcher {

// Is thrown where a signal has ended the wait for other ranks. what() is the line that tells it;
// empty: another rank tells.
class StoppedWait : public Error {
public:
    StoppedWait(const std::string& line, int code) : Error(ErrorKind::peer, line), code_(code) {}
    int code() const noexcept { return code_; }  // the exit code

private:
    int code_;
};

// Makes a signal end the wait for the other ranks: nothing is trained yet that could be finished or
// saved. The process ends if the wait itself does not end within a second, and at once at a second
// signal. A rank that is alone waits for nobody.
class RankWait {
public:
    // Throws StoppedWait if a signal has come already.
    RankWait(StopSignal& stop, const comm::RankInfo& rank_info);
    RankWait(const RankWait&) = delete;
    RankWait& operator=(const RankWait&) = delete;
    ~RankWait() { end(); }

    // Throws StoppedWait if a signal has come; `missing` names the ranks that have not.
    void look(const std::function<std::string()>& missing);
    void end();
    bool goes_on() const noexcept { return waits_; }
    // Throws StoppedWait where a signal has come: the error that has ended this wait is that of
    // look(), or comes of a rank that was stopped, too.
    void require_no_signal() const;

private:
    StopSignal& stop_;
    comm::RankInfo rank_info_;
    bool waits_;
    std::string told_;  // by look()
};

}  // namespace lockstep::launcher
