// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/device/cpu_context.hpp"

namespace lockstep::device {

// Names work: under equal keys the same calls with the same arguments are queued every time.
using WorkKey = std::vector<std::int64_t>;

enum class Queued { call_by_call, at_once };

// Queues work that comes again and again, by as few calls as the device allows. run(key, moves,
// work) has the effect of work(); `moves` counts how often memory whose addresses the work uses has
// moved so far. Inside the work, apart(action) calls action() each time, in its place among what is
// queued, for actions that no device can repeat by itself; what they refer to outlives the object.
template <class Ctx>
class Replay;

template <>
class Replay<CpuContext> {
public:
    explicit Replay(CpuContext&) {}

    template <class Work>
    Queued run(const WorkKey&, std::int64_t /*moves*/, const Work& work) {
        work();
        return Queued::call_by_call;
    }
    template <class Action>
    void apart(const Action& action) {
        action();
    }
};

}  // namespace lockstep::device
