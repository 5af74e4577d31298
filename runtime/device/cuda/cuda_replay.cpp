// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/cuda_replay.hpp"

#include <algorithm>
#include <utility>

namespace lockstep::device {

namespace {

// A graph takes a small amount of GPU memory per kernel, and CUDA does not say how much. If little
// memory is left, separate calls cost some time, but a graph without room would end the run.
bool has_room_for_a_graph() {
    constexpr std::size_t enough = std::size_t{512} << 20;
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return free >= enough;
}

}  // namespace

std::size_t Replay<CudaContext>::captured() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        works_, [](const auto& work) { return !work.second.pieces.empty(); }));
}

Queued Replay<CudaContext>::run(const WorkKey& key, std::int64_t moves,
                                const std::function<void()>& work) {
    Known& known = works_[key];
    const bool in_place = known.moves == moves + ctx_.scratch_moves();
    if (!in_place) known.pieces.clear();
    if (!known.pieces.empty()) {
        for (const Piece& piece : known.pieces) {
            piece.graph.launch(ctx_);
            if (piece.after) piece.after();
        }
        return Queued::at_once;
    }
    if (in_place && captured() < max_graphs_ && has_room_for_a_graph()) {
        capture(known, work);
        return Queued::at_once;
    }
    work();
    known.moves = moves + ctx_.scratch_moves();
    return Queued::call_by_call;
}

void Replay<CudaContext>::apart(std::function<void()> action) {
    if (!capture_) return action();
    end_piece(std::move(action));
    pieces_.back().after();
    capture_.emplace(ctx_);
}

void Replay<CudaContext>::capture(Known& known, const std::function<void()>& work) {
    pieces_.clear();
    capture_.emplace(ctx_);
    try {
        work();
        end_piece({});
    } catch (...) {
        capture_.reset();
        throw;
    }
    known.pieces = std::exchange(pieces_, {});
}

// The calls captured since the previous piece also run now.
void Replay<CudaContext>::end_piece(std::function<void()> after) {
    CudaGraph graph = capture_->finish();
    capture_.reset();
    graph.launch(ctx_);
    pieces_.push_back({std::move(graph), std::move(after)});
}

}  // namespace lockstep::device
