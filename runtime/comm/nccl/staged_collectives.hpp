// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/device/cuda/cuda_context.hpp"

namespace lockstep::comm {

// GPUs among which there is no NCCL, or which it refuses: ranges go piece by piece through pinned
// memory and the host's communicator, whose thread copies and reduces while the GPU computes on.
// The sums are the host's, and it is slow. finish() waits on the host, and throws what went wrong.
class StagedCollectives final : public Collectives<CudaSpace> {
public:
    // A piece that passes through the host at once; so much memory is pinned.
    static constexpr std::size_t usual_piece_bytes = std::size_t{8} << 20;

    // Collective over `host`, of which it splits off a communicator of its own; waits. The context
    // outlives the object.
    StagedCollectives(device::CudaContext& context, Communicator& host,
                      std::size_t piece_bytes = usual_piece_bytes);
    ~StagedCollectives() override;

    int rank() const noexcept override { return rank_; }
    int size() const noexcept override { return size_; }

    void all_reduce(Range<CudaSpace> range, ReduceOp reduction, std::string label) override;
    void reduce_scatter(Range<CudaSpace> range, ReduceOp reduction, std::string label) override;
    void all_gather(Range<CudaSpace> from, Range<CudaSpace> to, std::string label) override;
    void broadcast(Range<CudaSpace> range, int root, std::string label) override;
    void finish() override;
    std::vector<Timing> take_timings() override;

    void give_up() override;
    Activity activity() const override;

private:
    // Which copies a rank has to make.
    enum class Way { there_and_back, to_host, to_gpu };
    // Queues a piece's operation on the host's communicator.
    using Operate = std::function<void(Communicator&, HostRange)>;

    void stage(const Range<CudaSpace>& range, Way way, const std::string& label,
               const Operate& operate);
    void begin(cudaEvent_t computed);
    void copy(const void* from, void* to, std::size_t bytes) const;
    void end(const std::string& label);
    Communicator& host();

    device::CudaContext& context_;
    const int rank_, size_;
    device::PinnedBuffer<std::byte> piece_;
    Clock::time_point begun_;  // the operation that runs; of the host's thread

    mutable std::mutex mutex_;                  // of what follows
    std::vector<Timing> running_;               // since the last finish()
    std::deque<std::vector<Timing>> finished_;  // not asked about
    std::unique_ptr<Communicator> host_;        // null: given up
};

}  // namespace lockstep::comm
