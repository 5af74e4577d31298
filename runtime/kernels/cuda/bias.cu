// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/primitives/column_sums.hpp"
#include "runtime/kernels/linear.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

struct Same {
    __device__ __forceinline__ float operator()(float x) const { return x; }
};

}  // namespace

template <class T>
void bias_backward(CudaContext& ctx, CudaMatrix<const T> dy, CudaView<float> db, Into into) {
    column_sums(ctx, TermOf<Same, T>{{}, dy}, db, into, dy);
}

template void bias_backward(CudaContext&, CudaMatrix<const float>, CudaView<float>, Into);
template void bias_backward(CudaContext&, CudaMatrix<const bf16>, CudaView<float>, Into);
template void bias_backward(CudaContext&, CudaMatrix<const fp16>, CudaView<float>, Into);

}  // namespace lockstep::kernels
