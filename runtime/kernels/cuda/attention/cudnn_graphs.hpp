// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "runtime/core/dtype.hpp"
#include "runtime/device/cuda/cuda_context.hpp"
#include "runtime/device/cuda_library.hpp"
#include "runtime/kernels/attention.hpp"
#include "runtime/kernels/cuda/attention/attention_library.hpp"

struct cudnnContext;
namespace cudnn_frontend::graph {
class Graph;
}

// This file declares cuDNN's plans for attention over ragged batches.
namespace lockstep::kernels::cuda {

// Plans and their arguments name tensors by these numbers. The offsets of tensor t's rows have
// number first_offsets + t.
namespace tensor {
enum : std::int64_t { q = 1, k, v, out, statistics, d_out, dq, dk, dv, count };
constexpr std::int64_t q_lengths = 50, k_lengths = 51, first_offsets = 100;
constexpr bool of_queries(std::int64_t t) noexcept {
    return t != k && t != v && t != dk && t != dv;
}
}  // namespace tensor

enum class LibraryPass { forward, backward };
// The properties that a plan is made for. Counts are upper bounds, rounded up so that few plans
// serve all batches.
struct LibraryShape {
    LibraryPass pass;
    Dtype element;
    kernels::Mask mask;
    LibrarySums sums;  // in backward
    std::int64_t sequences, heads, head_dim, longest_q, longest_k, q_total, k_total;
    std::array<std::int64_t, tensor::count> strides;  // of rows; 0 if the pass has no such tensor

    auto operator<=>(const LibraryShape&) const = default;
};

// cuDNN's handle for a context. Throws if libcudnn or a library that it needs is missing.
class CudnnHandle {
public:
    explicit CudnnHandle(const device::CudaContext& ctx);
    ~CudnnHandle();
    CudnnHandle(const CudnnHandle&) = delete;
    CudnnHandle& operator=(const CudnnHandle&) = delete;
    cudnnContext* raw() const noexcept { return handle_; }
    std::size_t version() const noexcept;  // 91900 is 9.19.0

private:
    device::CudaLibrary library_;
    cudnnContext* handle_ = nullptr;
};

// Returns "cuDNN 9.26 for …, else own kernels", or why cuDNN serves nothing.
std::string describe_cudnn(std::size_t version, int compute_capability,
                           const AttentionSettings& settings, int head_dim);

// Says how cuDNN computes a shape: with the engine and the choices that it prefers, or with those
// whose blocks add to a sum in turns, in a fixed order.
enum class CudnnWay { none, chosen_by_cudnn, in_turns };
// Returns `none` if cuDNN of that version has no way on GPUs of that compute capability, or would
// need memory for all scores.
CudnnWay way_of(const LibraryShape& shape, std::size_t version, int compute_capability) noexcept;

// These are the parts of make_plan, which also work without a GPU. The graph is for GPUs of that
// compute capability. A plan is built with a handle, or with null if the graph has the properties
// of a device. build_plan() returns why there is no plan, or an empty string.
std::shared_ptr<cudnn_frontend::graph::Graph> graph_of(const LibraryShape& shape, CudnnWay way,
                                                       int compute_capability);
std::string build_plan(cudnn_frontend::graph::Graph& graph, CudnnWay way, cudnnContext* handle);

// A plan that needs a larger workspace is not used.
std::int64_t max_workspace_bytes(const LibraryShape& shape) noexcept;

// A plan without a graph means that cuDNN does not support the shape.
struct CudnnPlan {
    std::shared_ptr<cudnn_frontend::graph::Graph> graph;
    std::int64_t workspace_bytes = 0;
};
CudnnPlan make_plan(const CudnnHandle& handle, const device::CudaContext& ctx,
                    const LibraryShape& shape);

using LibraryArguments = std::unordered_map<std::int64_t, void*>;
void run_plan(const CudnnHandle& handle, const CudnnPlan& plan, LibraryArguments& arguments,
              void* workspace);

}  // namespace lockstep::kernels::cuda
