// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/attention/attention_library.hpp"

namespace lockstep::kernels::cuda {

std::string describe_library(CudaContext&, int) {
    return "own kernels: this build had no headers of cuDNN's frontend";
}

template <class T>
bool library_forward(CudaContext&, const AttentionBatch&, const ForwardMatrices<T>&) {
    return false;
}
template <class T>
bool library_takes_forward(CudaContext&, const AttentionBatch&, const ForwardMatrices<T>&) {
    return false;
}
template <class T>
bool library_backward(CudaContext&, const AttentionBatch&, const BackwardMatrices<T>&,
                      LibrarySums) {
    return false;
}
template <class T>
bool library_takes_backward(CudaContext&, const AttentionBatch&, const BackwardMatrices<T>&,
                            LibrarySums) {
    return false;
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
