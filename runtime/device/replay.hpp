// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/device/cpu_context.hpp"

namespace lockstep::device {

// Identifies repeated work. Equal keys mean that the same calls with the same arguments are queued.
using WorkKey = std::vector<std::int64_t>;

enum class Queued { call_by_call, at_once };

// Queues work that repeats with as few calls as the device allows. run(key, moves, work) has the
// effect of work(). `moves` counts how many times the memory that the work uses has changed its
// address. The work can use apart(action) for actions that a device cannot repeat by itself:
// action() is then called each time at the same point in the queue. The objects that actions refer
// to must outlive this object.
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
