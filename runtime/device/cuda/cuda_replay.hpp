// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "runtime/device/cuda/cuda_graph.hpp"
#include "runtime/device/replay.hpp"

namespace lockstep::device {

// ctx.cached<GraphSettings>(), to be set before a Replay is made: so many works become graphs, the
// first that come a second time; all others are queued call by call.
struct GraphSettings {
    std::size_t most = 0;
};

// By graphs. Work runs call by call at first, which brings scratch memory to its size, has
// libraries choose and load their kernels, and shows whether memory still moves; the next time it
// is captured, and from then on replayed, if the GPU has memory to spare. apart() cuts it into
// several graphs.
template <>
class Replay<CudaContext> {
public:
    explicit Replay(CudaContext& ctx) : ctx_(ctx), most_(ctx.cached<GraphSettings>().most) {}

    Queued run(const WorkKey& key, std::int64_t moves, const std::function<void()>& work);
    void apart(std::function<void()> action);

private:
    struct Piece {
        CudaGraph graph;
        std::function<void()> after;  // empty: the last one
    };
    struct Known {
        std::int64_t moves = -1;    // at the last run, or when it was captured
        std::vector<Piece> pieces;  // empty: not captured
    };

    void capture(Known& known, const std::function<void()>& work);
    void end_piece(std::function<void()> after);
    std::size_t captured() const;

    CudaContext& ctx_;
    std::size_t most_;
    std::map<WorkKey, Known> works_;
    std::optional<CudaCapture> capture_;  // while work is captured
    std::vector<Piece> pieces_;           // of that work, so far
};

}  // namespace lockstep::device
