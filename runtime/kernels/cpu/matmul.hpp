// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/core/bf16.hpp"
#include "runtime/core/dtype.hpp"
#include "runtime/device/cpu_context.hpp"
#include "runtime/kernels/into.hpp"

namespace lockstep::kernels::cpu {

// A factor of a product as it lies in memory: element (i, j) is at i * row_stride + j * col_stride,
// and one of the two strides is 1. A transposed matrix has them swapped; nothing is copied.
struct Factor {
    const void* data;
    Dtype element;
    std::int64_t row_stride, col_stride;
};

// oneDNN's implementation: its first choice for the factors as they lie in memory, or for a copy of
// b in the order that it likes best, made before each product, or its general product, where it has
// one. None is the fastest for all shapes.
enum class Method : std::uint8_t { first, packed, general };

// c [m, n] = or += a [m, k] * b [k, n] (+ bias [n], of c's type, where not null). Rows of c are
// c_stride apart. a and b have the same element type.
struct Product {
    std::int64_t m, n, k;
    Factor a, b;
    const void* bias;
    void* c;
    Dtype c_element;
    std::int64_t c_stride;
    Into into;
    Method method = Method::first;
};

template <class T>
Factor factor(HostMatrix<const T> matrix) noexcept {
    return {matrix.data, dtype_of<T>, matrix.stride, 1};
}
template <class T>
Factor transposed(HostMatrix<const T> matrix) noexcept {
    return {matrix.data, dtype_of<T>, 1, matrix.stride};
}

// oneDNN's primitives by shape, with the memory they need: making one costs more than running a
// small one. Used by one thread at a time; its products run on the OpenMP threads of the caller, so
// inside a parallel region on the calling thread alone.
class MatmulCache {
public:
    MatmulCache();
    ~MatmulCache();
    MatmulCache(MatmulCache&&) noexcept;

    // False, and nothing is computed, where this processor has no such products (bf16). Throws
    // ErrorKind::dnnl.
    bool run(const Product& product);

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Runs the product on the context's threads. Empty products are allowed.
void multiply(device::CpuContext& ctx, const Product& product);

}  // namespace lockstep::kernels::cpu
