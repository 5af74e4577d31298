// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "runtime/device/cuda/cuda_graph.hpp"
#include "runtime/device/replay.hpp"

namespace lockstep::device {

// Set ctx.cached<GraphSettings>() before a Replay is made. `max_graphs` is the maximum number of
// works that become graphs: the first ones that come a second time. All others are queued call by
// call.
struct GraphSettings {
    std::size_t max_graphs = 0;
};

// Replays work as CUDA graphs. Work first runs call by call: this grows scratch memory to its size,
// makes libraries choose and load their kernels, and shows if memory still moves. The next run
// captures it, and later runs replay it, if the GPU has enough free memory. apart() splits the work
// into several graphs.
template <>
class Replay<CudaContext> {
public:
    explicit Replay(CudaContext& ctx)
        : ctx_(ctx), max_graphs_(ctx.cached<GraphSettings>().max_graphs) {}

    Queued run(const WorkKey& key, std::int64_t moves, const std::function<void()>& work);
    void apart(std::function<void()> action);

private:
    struct Piece {
        CudaGraph graph;
        std::function<void()> after;  // empty for the last piece
    };
    struct Known {
        std::int64_t moves = -1;    // value at the last run, or at the capture
        std::vector<Piece> pieces;  // empty: not captured
    };

    void capture(Known& known, const std::function<void()>& work);
    void end_piece(std::function<void()> after);
    std::size_t captured() const;

    CudaContext& ctx_;
    std::size_t max_graphs_;
    std::map<WorkKey, Known> works_;
    std::optional<CudaCapture> capture_;  // set during a capture
    std::vector<Piece> pieces_;           // pieces of the current capture so far
};

}  // namespace lockstep::device
