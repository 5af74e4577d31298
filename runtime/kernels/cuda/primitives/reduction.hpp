// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include "instructions/memory.hpp"

// These functions calculate sums and maxima over warps and blocks. The numbers of the threads fix
// the order, so the same input gives the same bits. Every thread of the warp or block must call
// them, and gets the result.
namespace lockstep::kernels::cuda {

constexpr unsigned whole_warp = 0xFFFFFFFFu;
constexpr int warp_size = 32;

struct Sum {
    template <class Value>
    __device__ __forceinline__ Value operator()(Value a, Value b) const {
        return a + b;
    }
};
// NaN counts as smaller than every number.
struct Largest {
    template <class Value>
    __device__ __forceinline__ Value operator()(Value a, Value b) const {
        return a < b || a != a ? b : a;
    }
};

template <class Operation, class Value>
__device__ __forceinline__ Value warp_reduce(Value value) {
#pragma unroll
    for (int distance = warp_size / 2; distance > 0; distance /= 2)
        value = Operation{}(value, __shfl_xor_sync(whole_warp, value, distance));
    return value;
}

template <class Value>
struct WarpValues {
    Value values[warp_size];
};

// Requires a one-dimensional block of whole warps.
template <class Operation, class Value>
__device__ __forceinline__ Value block_reduce(Value value) {
    WarpValues<Value>& shared = shared_memory<WarpValues<Value>>();
    const unsigned warps = blockDim.x / warp_size;
    value = warp_reduce<Operation>(value);
    if (threadIdx.x % warp_size == 0) shared.values[threadIdx.x / warp_size] = value;
    __syncthreads();
    Value result = shared.values[0];
    for (unsigned warp = 1; warp < warps; ++warp) result = Operation{}(result, shared.values[warp]);
    __syncthreads();  // a second reduction may begin
    return result;
}

}  // namespace lockstep::kernels::cuda
