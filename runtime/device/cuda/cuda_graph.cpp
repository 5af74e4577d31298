// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/cuda_graph.hpp"

#include <utility>

namespace lockstep::device {

namespace {

struct DescriptionTraits {
    using Raw = cudaGraph_t;
    static Raw null() noexcept { return nullptr; }
    static void destroy(Raw raw) noexcept { cudaGraphDestroy(raw); }
};
using Description = UniqueHandle<DescriptionTraits>;

}  // namespace

// The capture covers this thread only: other threads keep watching events meanwhile.
CudaCapture::CudaCapture(CudaContext& ctx) : ctx_(ctx) {
    check(cudaStreamBeginCapture(ctx.stream(), cudaStreamCaptureModeThreadLocal),
          "cudaStreamBeginCapture");
}

CudaCapture::~CudaCapture() {
    if (finished_) return;
    // The error that ended the capture has already been reported.
    cudaGraph_t raw = nullptr;
    cudaStreamEndCapture(ctx_.stream(), &raw);
    const Description unused(raw);
    cudaGetLastError();
}

CudaGraph CudaCapture::finish() {
    finished_ = true;
    cudaGraph_t raw = nullptr;
    check(cudaStreamEndCapture(ctx_.stream(), &raw), "cudaStreamEndCapture");
    const Description description(raw);
    cudaGraphExec_t graph = nullptr;
    check(cudaGraphInstantiate(&graph, description.raw(), 0), "cudaGraphInstantiate");
    return CudaGraph(UniqueHandle<GraphTraits>(graph));
}

CudaGraph::CudaGraph(CudaContext& ctx, const std::function<void()>& work) {
    CudaCapture capture(ctx);
    work();
    *this = capture.finish();
}

void CudaGraph::launch(CudaContext& ctx) const {
    check(cudaGraphLaunch(graph_.raw(), ctx.stream()), "cudaGraphLaunch");
}

}  // namespace lockstep::device
