// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runtime/kernels/cuda/primitives/column_sums.hpp"
#include "runtime/kernels/cuda/primitives/reduction.hpp"
#include "runtime/kernels/deferred_sums.hpp"

namespace lockstep::kernels::cuda {

namespace {

// A block has 32 columns: each of its warps sums every 16th part, then one warp adds the warps'
// sums.
constexpr int warps = 16;
struct Sums {
    float of[warps][warp_size];
};

// Stands for total[j] = or += the sum of column j of parts.
struct Job {
    CudaMatrix<const float> parts;
    float* total;
    Into into;
};

// 4 layers have this many sums at most: 3 norms with 3 sums each, 2 attentions with 3 each, a bias.
// The parameters of a launch may take 4 KB.
constexpr int max_jobs = 64;
struct Jobs {
    Job of[max_jobs];
};
static_assert(sizeof(Jobs) <= 4096);

__global__ void __launch_bounds__(warps* warp_size)
    sum_parts_kernel(const __grid_constant__ Jobs jobs) {
    auto& sums = shared_memory<Sums>();
    const Job& job = jobs.of[blockIdx.y];
    const unsigned warp = threadIdx.x / warp_size, lane = threadIdx.x % warp_size;
    const std::int64_t column = std::int64_t{blockIdx.x} * warp_size + lane;
    float sum = 0;
    if (column < job.parts.cols) {
        const float* part = job.parts.data + column;
#pragma unroll 4
        for (std::int64_t i = warp; i < job.parts.rows; i += warps)
            sum += part[i * job.parts.stride];
    }
    sums.of[warp][lane] = sum;
    __syncthreads();
    if (warp != 0 || column >= job.parts.cols) return;
    float total = 0;
    for (int i = 0; i < warps; ++i) total += sums.of[i][lane];
    float& to = job.total[column];
    to = job.into == Into::overwrite ? total : to + total;
}

void run(device::CudaContext& ctx, const Jobs& jobs, int count) {
    std::int64_t cols = 0;
    for (int i = 0; i < count; ++i) cols = std::max(cols, jobs.of[i].parts.cols);
    launch(ctx, sum_parts_kernel,
           {{blocks_for(cols, warp_size), static_cast<unsigned>(count)}, warps * warp_size}, jobs);
}

// Holds a context's sums that wait for DeferredSums::finish(), and their parts.
class WaitingSums {
public:
    bool wanted = false;  // if false, nothing waits

    CudaView<float> take(device::CudaContext& ctx, std::size_t count) {
        constexpr std::size_t line = 64;
        count = (count + line - 1) / line * line;
        asked_ += count;
        if (asked_ > memory_.size()) grow(ctx);
        used_ += count;
        return memory_.view().subview(used_ - count, count);
    }
    void add(device::CudaContext& ctx, const Job& job) {
        if (count_ == max_jobs || has(job.total)) launch_jobs(ctx);
        jobs_.of[count_++] = job;
    }
    void finish(device::CudaContext& ctx) {
        launch_jobs(ctx);
        drop();
    }
    void drop() {
        count_ = 0;
        used_ = asked_ = 0;
    }

private:
    bool has(const float* total) const {
        return std::any_of(jobs_.of, jobs_.of + count_,
                           [&](const Job& job) { return job.total == total; });
    }
    void launch_jobs(device::CudaContext& ctx) {
        run(ctx, jobs_, count_);
        count_ = 0;
    }
    // Grows the memory to all that was requested since finish(), so that the same requests fit the
    // next time, when they may be captured.
    void grow(device::CudaContext& ctx) {
        launch_jobs(ctx);
        used_ = 0;
        ctx.replace_scratch([&] {
            memory_ = {};
            memory_ = device::Buffer<float, CudaSpace>(asked_);
        });
    }

    device::Buffer<float, CudaSpace> memory_;
    std::size_t used_ = 0, asked_ = 0;
    Jobs jobs_{};
    int count_ = 0;
};

}  // namespace

CudaMatrix<float> parts_memory(device::CudaContext& ctx, std::int64_t rows, std::int64_t cols) {
    const auto count = static_cast<std::size_t>(rows * cols);
    auto& waiting = ctx.cached<WaitingSums>();
    return {(waiting.wanted ? waiting.take(ctx, count) : ctx.scratch<float>(count)).data(), rows,
            cols};
}

void sum_parts_by_column(device::CudaContext& ctx, CudaMatrix<const float> parts,
                         std::initializer_list<CudaView<float>> totals, Into into) {
    const auto count = static_cast<std::int64_t>(totals.size());
    require(count <= max_jobs && parts.cols % count == 0, "column sums: sizes differ");
    const std::int64_t cols = parts.cols / count;
    auto& waiting = ctx.cached<WaitingSums>();
    Jobs jobs{};
    int number = 0;
    for (const auto& total : totals) {
        require(static_cast<std::int64_t>(total.size()) == cols, "column sums: sizes differ");
        const Job job{
            {parts.data + number * cols, parts.rows, cols, parts.stride}, total.data(), into};
        if (waiting.wanted) waiting.add(ctx, job);
        jobs.of[number++] = job;
    }
    if (!waiting.wanted) run(ctx, jobs, number);
}

}  // namespace lockstep::kernels::cuda

namespace lockstep::kernels {

using cuda::WaitingSums;

DeferredSums<device::CudaContext>::DeferredSums(device::CudaContext& ctx) : ctx_(ctx) {
    auto& waiting = ctx.cached<WaitingSums>();
    require(!waiting.wanted, "sums wait already");
    waiting.wanted = true;
}
DeferredSums<device::CudaContext>::~DeferredSums() {
    auto& waiting = ctx_.cached<WaitingSums>();
    waiting.wanted = false;
    waiting.drop();
}
void DeferredSums<device::CudaContext>::finish() { ctx_.cached<WaitingSums>().finish(ctx_); }

}  // namespace lockstep::kernels
