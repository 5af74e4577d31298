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

// Implements collectives for GPUs when NCCL is missing or refuses them. Ranges go piece by piece
// through pinned memory and the host's communicator, whose thread copies and reduces while the GPU
// computes. The host adds, so it is slow. finish() makes the host wait and throws the error of any
// operation.
class StagedCollectives final : public Collectives<CudaSpace> {
public:
    // A piece of this size passes through the host at once; the pinned memory has the same size.
    static constexpr std::size_t usual_piece_bytes = std::size_t{8} << 20;

    // Splits a communicator off `host`. The call is collective and waits. The context must outlive
    // the object.
    StagedCollectives(device::CudaContext& context, Communicator& host,
                      std::size_t piece_bytes = usual_piece_bytes);
    ~StagedCollectives() override;

    int rank() const noexcept override { return rank_; }
    int size() const noexcept override { return size_; }

    Ticket all_reduce(Range<CudaSpace> range, ReduceOp reduction, std::string label) override;
    Ticket reduce_scatter(Range<CudaSpace> range, ReduceOp reduction, std::string label) override;
    Ticket all_gather(Range<CudaSpace> from, Range<CudaSpace> to, std::string label) override;
    Ticket broadcast(Range<CudaSpace> range, int root, std::string label) override;
    void finish() override;
    void finish(Ticket through) override;
    std::vector<Timing> take_timings() override;
    std::unique_ptr<Collectives<CudaSpace>> group(int colour) override;
    std::unique_ptr<Collectives<CudaSpace>> lone_group() override;

    void give_up() override;
    Activity activity() const override;

private:
    // Tells which copies a rank has to make.
    enum class Way { there_and_back, to_host, to_gpu };
    // Queues a piece's operation on the host's communicator.
    using Operate = std::function<void(Communicator&, HostRange)>;

    Ticket stage(const Range<CudaSpace>& range, Way way, const std::string& label,
                 const Operate& operate);
    StagedCollectives(device::CudaContext& context, std::unique_ptr<Communicator> host,
                      std::size_t piece_bytes);
    void begin(cudaEvent_t computed);
    void copy(const void* from, void* to, std::size_t bytes) const;
    void end(const std::string& label);
    Communicator& host();

    device::CudaContext& context_;
    const int rank_, size_;
    device::PinnedBuffer<std::byte> piece_;
    Clock::time_point begun_;  // start of the running operation; used by the host's thread only

    mutable std::mutex mutex_;                  // guards the members below
    std::vector<Timing> running_;               // since the last finish()
    std::deque<std::vector<Timing>> finished_;  // not yet returned by take_timings()
    std::unique_ptr<Communicator> host_;        // null: given up
};

}  // namespace lockstep::comm
