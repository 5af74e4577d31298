// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/attention/cudnn_graphs.hpp"

#include <cudnn_frontend.h>

#include <cmath>
#include <string>

namespace cudnn_frontend {
// The frontend finds cuDNN's functions through this variable, which the code that loads cuDNN must
// define.
void* cudnn_dlhandle = nullptr;
}  // namespace cudnn_frontend

namespace lockstep::kernels::cuda {

namespace {

namespace fe = cudnn_frontend;
using Tensor = fe::graph::Tensor_attributes;

// A graph under construction.
class Builder {
public:
    Builder(const LibraryShape& shape, int compute_capability)
        : shape_(shape), graph_(std::make_shared<fe::graph::Graph>()) {
        graph_->set_io_data_type(shape.element == Dtype::bf16 ? fe::DataType_t::BFLOAT16
                                                              : fe::DataType_t::HALF);
        graph_->set_intermediate_data_type(fe::DataType_t::FLOAT);
        graph_->set_compute_data_type(fe::DataType_t::FLOAT);
        graph_->set_sm_version(compute_capability);
    }

    void forward() {
        auto attributes = fe::graph::SDPA_attributes();
        attributes.set_name("attention").set_generate_stats(true);
        set_common(attributes);
        auto [out, statistics] =
            graph_->sdpa(input(tensor::q), input(tensor::k), input(tensor::v), attributes);
        describe(*out, tensor::out).set_output(true);
        describe(*statistics, tensor::statistics).set_output(true);
    }

    void backward(CudnnWay way) {
        auto attributes = fe::graph::SDPA_backward_attributes();
        attributes.set_name("attention_backward")
            .set_deterministic_algorithm(shape_.sums == LibrarySums::in_fixed_order &&
                                         way != CudnnWay::in_turns);
        attributes.set_max_total_seq_len_q(shape_.q_total);
        attributes.set_max_total_seq_len_kv(shape_.k_total);
        set_common(attributes);
        auto [dq, dk, dv] = graph_->sdpa_backward(
            input(tensor::q), input(tensor::k), input(tensor::v), input(tensor::out),
            input(tensor::d_out), input(tensor::statistics), attributes);
        describe(*dq, tensor::dq).set_output(true);
        describe(*dk, tensor::dk).set_output(true);
        describe(*dv, tensor::dv).set_output(true);
    }

    std::shared_ptr<fe::graph::Graph> graph() const { return graph_; }

private:
    std::shared_ptr<Tensor> indices(std::int64_t number, std::int64_t count, fe::DataType_t type) {
        return graph_->tensor(Tensor()
                                  .set_uid(number)
                                  .set_dim({count, 1, 1, 1})
                                  .set_stride({1, 1, 1, 1})
                                  .set_data_type(type));
    }

    // Describes a tensor [sequences, heads, longest, columns]. Sequence s has its own length and
    // begins at its offset.
    Tensor& describe(Tensor& attributes, std::int64_t number) {
        const std::int64_t longest =
            tensor::of_queries(number) ? shape_.longest_q : shape_.longest_k;
        const std::int64_t columns = number == tensor::statistics ? 1 : shape_.head_dim;
        const std::int64_t stride = shape_.strides[static_cast<std::size_t>(number)];
        if (number == tensor::statistics) attributes.set_data_type(fe::DataType_t::FLOAT);
        return attributes.set_uid(number)
            .set_dim({shape_.sequences, shape_.heads, longest, columns})
            .set_stride({longest * stride, columns, stride, 1})
            .set_ragged_offset(indices(tensor::first_offsets + number, shape_.sequences + 1,
                                       fe::DataType_t::INT64));
    }
    std::shared_ptr<Tensor> input(std::int64_t number) {
        Tensor attributes;
        return graph_->tensor(describe(attributes, number));
    }

    template <class Attributes>
    void set_common(Attributes& attributes) {
        attributes.set_attn_scale(1.0f / std::sqrt(static_cast<float>(shape_.head_dim)));
        attributes.set_padding_mask(true)
            .set_seq_len_q(indices(tensor::q_lengths, shape_.sequences, fe::DataType_t::INT32))
            .set_seq_len_kv(indices(tensor::k_lengths, shape_.sequences, fe::DataType_t::INT32));
        if (shape_.mask == kernels::Mask::causal)
            attributes.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT)
                .set_diagonal_band_right_bound(0);
    }

    const LibraryShape& shape_;
    std::shared_ptr<fe::graph::Graph> graph_;
};

// cuDNN reads and writes log-sum-exp by row offsets from 9.6 on. Before 9.18, backward over ragged
// batches read parts of its workspace that had not been written.
std::size_t oldest_for(LibraryPass pass) noexcept {
    return pass == LibraryPass::forward ? 90600 : 91800;
}

bool is_hopper(int compute_capability) noexcept {
    return compute_capability >= 90 && compute_capability < 100;
}

// Returns whether backward over ragged batches can sum in a fixed order; the frontend refuses it
// for sm_120.
bool has_fixed_order(int compute_capability) noexcept { return compute_capability < 120; }

// Returns whether the gradients of all scores, which cuDNN's own way to sum in a fixed order keeps
// on Hopper, exceed the workspace.
bool keeps_scores(const LibraryShape& s, int compute_capability) noexcept {
    return s.pass == LibraryPass::backward && s.sums == LibrarySums::in_fixed_order &&
           is_hopper(compute_capability) &&
           2 * s.sequences * s.heads * s.longest_q * s.longest_k > max_workspace_bytes(s);
}

// cuDNN 9.25 and newer have a backward kernel for Hopper whose blocks can add to dQ in turns, in
// the order of their keys. It needs no more memory than sums in any order. The frontend names its
// engine and these choices, but applies them by itself only for a whole process, from the
// environment.
constexpr std::size_t oldest_with_turns = 92500;
fe::error_t choose_turns(fe::graph::Graph& graph) {
    return graph.create_execution_plan(6, {{fe::KnobType_t::TILE_M, 2},
                                           {fe::KnobType_t::TILE_N, 1},
                                           {fe::KnobType_t::KERNEL_CFG, 2},
                                           {fe::KnobType_t::STREAM_K, 0},
                                           {fe::KnobType_t::TILE_CGA_M, 0},
                                           {fe::KnobType_t::STAGES, 4}});
}

}  // namespace

CudnnHandle::CudnnHandle(const device::CudaContext& ctx) : library_({"libcudnn.so.9"}) {
    fe::cudnn_dlhandle = library_.handle();
    if (fe::detail::create_handle(&handle_) != CUDNN_STATUS_SUCCESS)
        throw Error(ErrorKind::cuda, "cudnnCreate failed");
    if (fe::detail::set_stream(handle_, ctx.stream()) != CUDNN_STATUS_SUCCESS)
        throw Error(ErrorKind::cuda, "cudnnSetStream failed");
}

CudnnHandle::~CudnnHandle() {
    if (handle_ != nullptr) fe::detail::destroy_handle(handle_);
}

std::size_t CudnnHandle::version() const noexcept { return fe::detail::get_backend_version(); }

std::string describe_cudnn(std::size_t version, int compute_capability,
                           const AttentionSettings& settings, int head_dim) {
    const auto word = [](std::size_t v) {
        return std::to_string(v / 10000) + "." + std::to_string(v / 100 % 100);
    };
    const std::string name = "cuDNN " + word(version);
    if (compute_capability < 90)
        return "own kernels: " + name + "'s are for compute capability 9.0 and newer";
    if (version < oldest_for(LibraryPass::forward))
        return "own kernels: " + name + " is older than " + word(oldest_for(LibraryPass::forward));
    // Sequences of this length have scores as large as max_workspace_bytes().
    const int max_with_scores = 8 * head_dim;
    std::string backward;
    if (version < oldest_for(LibraryPass::backward))
        backward =
            ", forward alone (backward from " + word(oldest_for(LibraryPass::backward)) + " on)";
    else if (settings.autotune)
        backward = ", backward by the fastest";
    else if (!has_fixed_order(compute_capability))
        backward = ", forward alone";
    else if (is_hopper(compute_capability) && version < oldest_with_turns)
        backward = ", backward of at most " + std::to_string(max_with_scores) +
                   " tokens (of any length from " + word(oldest_with_turns) + " on)";
    return name + " for batches with sequences of " + std::to_string(long_enough_for_library) +
           " tokens or more" + backward + ", else own kernels";
}

// Some of cuDNN's ways to equal bits in every run keep all scores in memory; this limit excludes
// them. Sums of dQ in fp32 take twice the bytes of q, and every way keeps a number for each query.
std::int64_t max_workspace_bytes(const LibraryShape& s) noexcept {
    constexpr std::int64_t small = std::int64_t{1} << 20;
    const std::int64_t lines = s.sequences * s.heads;
    return 4 * lines * (s.longest_q + s.longest_k) * s.head_dim * 2 + 4 * lines * s.longest_q +
           small;
}

CudnnWay way_of(const LibraryShape& shape, std::size_t version, int compute_capability) noexcept {
    const bool fixed_order =
        shape.pass == LibraryPass::backward && shape.sums == LibrarySums::in_fixed_order;
    if (version < oldest_for(shape.pass) || (fixed_order && !has_fixed_order(compute_capability)))
        return CudnnWay::none;
    if (!keeps_scores(shape, compute_capability)) return CudnnWay::chosen_by_cudnn;
    return version < oldest_with_turns ? CudnnWay::none : CudnnWay::in_turns;
}

std::shared_ptr<fe::graph::Graph> graph_of(const LibraryShape& shape, CudnnWay way,
                                           int compute_capability) {
    Builder builder(shape, compute_capability);
    if (shape.pass == LibraryPass::forward)
        builder.forward();
    else
        builder.backward(way);
    return builder.graph();
}

std::string build_plan(fe::graph::Graph& graph, CudnnWay way, cudnnContext* handle) {
    auto status = graph.validate();
    if (status.is_good()) status = graph.build_operation_graph(handle);
    if (status.is_good())
        status = way == CudnnWay::in_turns ? choose_turns(graph)
                                           : graph.create_execution_plans({fe::HeurMode_t::A});
    if (status.is_good()) status = graph.check_support();
    if (status.is_good()) status = graph.build_plans();
    return status.is_good() ? "" : status.get_message();
}

CudnnPlan make_plan(const CudnnHandle& handle, const device::CudaContext& ctx,
                    const LibraryShape& shape) {
    const int capability = ctx.properties().compute_capability;
    const CudnnWay way = way_of(shape, handle.version(), capability);
    if (way == CudnnWay::none) return {};
    CudnnPlan plan{graph_of(shape, way, capability)};
    if (!build_plan(*plan.graph, way, handle.raw()).empty() ||
        plan.graph->get_workspace_size(plan.workspace_bytes).is_bad() ||
        plan.workspace_bytes > max_workspace_bytes(shape))
        return {};
    return plan;
}

void run_plan(const CudnnHandle& handle, const CudnnPlan& plan, LibraryArguments& arguments,
              void* workspace) {
    auto status = plan.graph->execute(handle.raw(), arguments, workspace);
    if (status.is_bad())
        throw Error(ErrorKind::cuda, "cuDNN's attention failed: " + status.get_message());
}

}  // namespace lockstep::kernels::cuda
