// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/nccl/staged_collectives.hpp"

#include <algorithm>
#include <utility>

#include "runtime/comm/nccl/local_collectives.hpp"
#include "runtime/device/cuda/cuda_check.hpp"
#include "runtime/device/cuda/cuda_clock.hpp"

namespace lockstep::comm {

namespace {

Range<CudaSpace> part_of(const Range<CudaSpace>& range, std::size_t first, std::size_t count) {
    auto* const data = static_cast<std::byte*>(range.data) + first * bytes_of(range.element);
    return {data, count, range.element};
}

}  // namespace

StagedCollectives::StagedCollectives(device::CudaContext& context, Communicator& host,
                                     std::size_t piece_bytes)
    : StagedCollectives(context, host.split(0), piece_bytes) {}

StagedCollectives::StagedCollectives(device::CudaContext& context,
                                     std::unique_ptr<Communicator> host, std::size_t piece_bytes)
    : context_(context),
      rank_(host->rank()),
      size_(host->size()),
      piece_(piece_bytes),
      host_(std::move(host)) {}

StagedCollectives::~StagedCollectives() {
    // The queued operations use all other members, so they end first.
    host_.reset();
}

Communicator& StagedCollectives::host() {
    if (!host_) throw Error(ErrorKind::peer, "this rank has left the other GPUs");
    return *host_;
}

void StagedCollectives::begin(cudaEvent_t computed) {
    device::check(cudaSetDevice(context_.device()), "cudaSetDevice");
    device::check(cudaEventSynchronize(computed), "cudaEventSynchronize");
    begun_ = Clock::now();
}

// Only the host's thread uses the stream before finish(). The wait makes the piece's memory free
// for the next piece.
void StagedCollectives::copy(const void* from, void* to, std::size_t bytes) const {
    const cudaStream_t stream = context_.communication_stream();
    device::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), "cudaMemcpyAsync");
    device::check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

void StagedCollectives::end(const std::string& label) {
    const std::lock_guard lock(mutex_);
    running_.push_back({label, begun_, Clock::now()});
}

Ticket StagedCollectives::stage(const Range<CudaSpace>& range, Way way, const std::string& label,
                                const Operate& operate) {
    auto& clock = context_.cached<device::CudaClock>();
    const cudaEvent_t computed = clock.event(clock.mark(context_.stream()));
    const std::size_t most = piece_.size() / bytes_of(range.element);
    host().run([this, computed] { begin(computed); }, label);
    for (std::size_t first = 0; first < range.count; first += most) {
        const auto part = part_of(range, first, std::min(most, range.count - first));
        void* const memory = piece_.view().data();
        const std::size_t bytes = part.bytes();
        if (way != Way::to_gpu) host().run([=, this] { copy(part.data, memory, bytes); }, label);
        operate(host(), {memory, part.count, part.element});
        if (way != Way::to_host) host().run([=, this] { copy(memory, part.data, bytes); }, label);
    }
    return host().run([this, label] { end(label); }, label);
}

Ticket StagedCollectives::all_reduce(Range<CudaSpace> range, ReduceOp reduction,
                                     std::string label) {
    require(reducible(range.element), "bytes and fp16 cannot be reduced");
    return stage(range, Way::there_and_back, label, [&](Communicator& ranks, HostRange piece) {
        ranks.all_reduce(piece, reduction, label);
    });
}

// The other ranks' parts are undefined afterwards, so they may as well hold their sums.
Ticket StagedCollectives::reduce_scatter(Range<CudaSpace> range, ReduceOp reduction,
                                         std::string label) {
    require(range.count % static_cast<std::size_t>(size_) == 0,
            "reduce_scatter needs a multiple of the number of ranks");
    return all_reduce(range, reduction, std::move(label));
}

Ticket StagedCollectives::all_gather(Range<CudaSpace> from, Range<CudaSpace> to,
                                     std::string label) {
    require(from.element == to.element && to.count == from.count * static_cast<std::size_t>(size_),
            "all_gather needs room for one part of each rank");
    const auto part = [&](int rank) {
        return part_of(to, static_cast<std::size_t>(rank) * from.count, from.count);
    };
    if (from.data != part(rank_).data)
        device::copy_bytes(context_, from.data, part(rank_).data, from.bytes());
    Ticket last;
    for (int rank = 0; rank < size_; ++rank) last = broadcast(part(rank), rank, label);
    return last;
}

Ticket StagedCollectives::broadcast(Range<CudaSpace> range, int root, std::string label) {
    require(root >= 0 && root < size_, "broadcast from a rank that does not exist");
    return stage(
        range, root == rank_ ? Way::to_host : Way::to_gpu, label,
        [&](Communicator& ranks, HostRange piece) { ranks.broadcast(piece, root, label); });
}

void StagedCollectives::finish(Ticket through) {
    host().finish(through);
    (void)host().take_timings();  // drops the times of the pieces
}

void StagedCollectives::finish() {
    host().finish();
    (void)host().take_timings();
    const std::lock_guard lock(mutex_);
    finished_.push_back(std::exchange(running_, {}));
}

std::vector<Timing> StagedCollectives::take_timings() {
    const std::lock_guard lock(mutex_);
    if (finished_.empty()) return {};
    std::vector<Timing> timings = std::move(finished_.front());
    finished_.pop_front();
    return timings;
}

std::unique_ptr<Collectives<CudaSpace>> StagedCollectives::group(int colour) {
    return std::unique_ptr<Collectives<CudaSpace>>(
        new StagedCollectives(context_, host().split(colour), piece_.size()));
}

std::unique_ptr<Collectives<CudaSpace>> StagedCollectives::lone_group() {
    return std::make_unique<LocalCollectives>(context_);
}

void StagedCollectives::give_up() {
    std::unique_ptr<Communicator> left;
    {
        const std::lock_guard lock(mutex_);
        left = std::move(host_);
    }
}

Activity StagedCollectives::activity() const {
    const std::lock_guard lock(mutex_);
    if (!host_) return {};
    Activity activity = host_->activity();
    activity.waited_for = activity.waited_for && !activity.operation.empty();
    return activity;
}

}  // namespace lockstep::comm
