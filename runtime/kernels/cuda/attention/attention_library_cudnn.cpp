// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <map>
#include <memory>
#include <string>

#include "runtime/kernels/cuda/attention/attention_library.hpp"
#include "runtime/kernels/cuda/attention/cudnn_graphs.hpp"
#include "runtime/kernels/cuda/attention/sequence_tables.hpp"

namespace lockstep::kernels::cuda {

namespace {

// A context's plans. If cuDNN cannot be opened, there are none, and opening is not tried again.
class LibraryPlans {
public:
    const CudnnPlan& plan(CudaContext& ctx, const LibraryShape& shape) {
        const auto found = plans_.find(shape);
        if (found != plans_.end()) return found->second;
        return plans_[shape] = made(ctx, shape);
    }
    const CudnnHandle& handle() const noexcept { return *handle_; }

    std::string description(CudaContext& ctx, int head_dim) {
        open(ctx);
        if (!handle_) return "own kernels: " + why_none_;
        return describe_cudnn(handle_->version(), ctx.properties().compute_capability,
                              ctx.cached<AttentionSettings>(), head_dim);
    }

private:
    void open(const CudaContext& ctx) noexcept {
        if (tried_) return;
        tried_ = true;
        try {
            handle_ = std::make_unique<CudnnHandle>(ctx);
        } catch (const std::exception& problem) {
            why_none_ = problem.what();
        }
    }
    // The frontend also throws, for example if a library that it needs is missing.
    CudnnPlan made(CudaContext& ctx, const LibraryShape& shape) noexcept {
        open(ctx);
        try {
            return handle_ ? make_plan(*handle_, ctx, shape) : CudnnPlan{};
        } catch (const std::exception&) {
            return {};
        }
    }

    bool tried_ = false;
    std::unique_ptr<CudnnHandle> handle_;
    std::string why_none_;
    std::map<LibraryShape, CudnnPlan> plans_;
};

// This minimum prevents upper bounds that are 64 modulo 128: with these, some of cuDNN's backward
// kernels on Hopper (up to 9.26 at least) add keys past the end to a query's gradient.
constexpr std::int64_t least_longest = 128;

template <class T>
LibraryShape shape_of(const AttentionBatch& batch, LibraryPass pass, LibrarySums sums) {
    return {pass,
            std::is_same_v<T, bf16> ? Dtype::bf16 : Dtype::fp16,
            batch.mask,
            sums,
            CudaContext::launch_size(batch.sequences, 8),
            batch.heads,
            batch.head_dim,
            CudaContext::launch_size(batch.queries.longest, least_longest),
            CudaContext::launch_size(batch.keys.longest, least_longest),
            CudaContext::launch_size(batch.queries.total, 64),
            CudaContext::launch_size(batch.keys.total, 64),
            {}};
}

// The matrices of a call, by their tensor numbers.
struct Memory {
    LibraryShape shape;
    LibraryArguments arguments;

    template <class T>
    void add(std::int64_t number, CudaMatrix<T> m) {
        shape.strides[static_cast<std::size_t>(number)] = m.stride;
        // cuDNN's arguments are all void*, including those that it only reads.
        arguments[number] = const_cast<void*>(static_cast<const void*>(m.data));
    }
    void add_statistics(const float* log_sum_exp, int heads) {
        add(tensor::statistics, CudaMatrix<const float>(log_sum_exp, 0, heads));
    }
};

template <class T>
Memory memory_of(const AttentionBatch& batch, const ForwardMatrices<T>& m) {
    Memory memory{shape_of<T>(batch, LibraryPass::forward, LibrarySums::in_fixed_order), {}};
    memory.add(tensor::q, m.q);
    memory.add(tensor::k, m.k);
    memory.add(tensor::v, m.v);
    memory.add(tensor::out, m.out);
    memory.add_statistics(m.log_sum_exp, batch.heads);
    return memory;
}

template <class T>
Memory memory_of(const AttentionBatch& batch, const BackwardMatrices<T>& m, LibrarySums sums) {
    Memory memory{shape_of<T>(batch, LibraryPass::backward, sums), {}};
    memory.add(tensor::q, m.q);
    memory.add(tensor::k, m.k);
    memory.add(tensor::v, m.v);
    memory.add(tensor::out, m.out);
    memory.add(tensor::d_out, m.d_out);
    memory.add(tensor::dq, m.dq);
    memory.add(tensor::dk, m.dk);
    memory.add(tensor::dv, m.dv);
    memory.add_statistics(m.log_sum_exp.data, batch.heads);
    return memory;
}

const CudnnPlan& plan_of(CudaContext& ctx, const AttentionBatch& batch, const Memory& memory) {
    static const CudnnPlan none;
    if (!is_for_library(ctx.cached<AttentionSettings>(), batch)) return none;
    if (batch.dropout.state != nullptr || batch.sequences == 0 || batch.queries.total == 0 ||
        batch.keys.total == 0)
        return none;
    return ctx.cached<LibraryPlans>().plan(ctx, memory.shape);
}

// Workspace and tables lie in scratch memory, one after the other.
void run(CudaContext& ctx, const AttentionBatch& batch, const CudnnPlan& plan, Memory& memory) {
    const auto padded = static_cast<std::size_t>(memory.shape.sequences);
    const std::size_t workspace =
        (static_cast<std::size_t>(plan.workspace_bytes) + 255) / 256 * 256;
    const std::size_t offsets = SequenceTables::max_tensors * (padded + 1) * sizeof(std::int64_t);
    std::byte* scratch =
        ctx.scratch<std::byte>(workspace + offsets + 2 * padded * sizeof(std::int32_t)).data();
    SequenceTables tables{};
    tables.offsets = reinterpret_cast<std::int64_t*>(scratch + workspace);
    tables.q_lengths = reinterpret_cast<std::int32_t*>(scratch + workspace + offsets);
    tables.k_lengths = tables.q_lengths + padded;
    tables.padded = static_cast<int>(padded);
    for (std::int64_t t = tensor::q; t < tensor::count; ++t) {
        if (!memory.arguments.contains(t)) continue;
        const auto i = static_cast<std::size_t>(tables.tensors);
        tables.sides[i] = tensor::of_queries(t) ? Side::queries : Side::keys;
        tables.strides[i] = memory.shape.strides[static_cast<std::size_t>(t)];
        memory.arguments[tensor::first_offsets + t] = tables.offsets + i * (padded + 1);
        ++tables.tensors;
    }
    fill_sequence_tables(ctx, batch, tables);
    memory.arguments[tensor::q_lengths] = tables.q_lengths;
    memory.arguments[tensor::k_lengths] = tables.k_lengths;
    run_plan(ctx.cached<LibraryPlans>().handle(), plan, memory.arguments, scratch);
}

}  // namespace

std::string describe_library(CudaContext& ctx, int head_dim) {
    return ctx.cached<LibraryPlans>().description(ctx, head_dim);
}

template <class T>
bool library_takes_forward(CudaContext& ctx, const AttentionBatch& batch,
                           const ForwardMatrices<T>& m) {
    return plan_of(ctx, batch, memory_of(batch, m)).graph != nullptr;
}

template <class T>
bool library_forward(CudaContext& ctx, const AttentionBatch& batch, const ForwardMatrices<T>& m) {
    Memory memory = memory_of(batch, m);
    const CudnnPlan& plan = plan_of(ctx, batch, memory);
    if (!plan.graph) return false;
    run(ctx, batch, plan, memory);
    clear_unattended(ctx, batch, m);
    return true;
}

template <class T>
bool library_takes_backward(CudaContext& ctx, const AttentionBatch& batch,
                            const BackwardMatrices<T>& m, LibrarySums sums) {
    return plan_of(ctx, batch, memory_of(batch, m, sums)).graph != nullptr;
}

template <class T>
bool library_backward(CudaContext& ctx, const AttentionBatch& batch, const BackwardMatrices<T>& m,
                      LibrarySums sums) {
    Memory memory = memory_of(batch, m, sums);
    const CudnnPlan& plan = plan_of(ctx, batch, memory);
    if (!plan.graph) return false;
    run(ctx, batch, plan, memory);
    clear_unattended(ctx, batch, m);
    return true;
}

template bool library_forward(CudaContext&, const AttentionBatch&, const ForwardMatrices<bf16>&);
template bool library_forward(CudaContext&, const AttentionBatch&, const ForwardMatrices<fp16>&);
template bool library_takes_forward(CudaContext&, const AttentionBatch&,
                                    const ForwardMatrices<bf16>&);
template bool library_takes_forward(CudaContext&, const AttentionBatch&,
                                    const ForwardMatrices<fp16>&);
template bool library_backward(CudaContext&, const AttentionBatch&, const BackwardMatrices<bf16>&,
                               LibrarySums);
template bool library_backward(CudaContext&, const AttentionBatch&, const BackwardMatrices<fp16>&,
                               LibrarySums);
template bool library_takes_backward(CudaContext&, const AttentionBatch&,
                                     const BackwardMatrices<bf16>&, LibrarySums);
template bool library_takes_backward(CudaContext&, const AttentionBatch&,
                                     const BackwardMatrices<fp16>&, LibrarySums);

}  // namespace lockstep::kernels::cuda
