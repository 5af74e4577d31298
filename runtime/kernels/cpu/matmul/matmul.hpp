// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/core/bf16.hpp"
#include "runtime/core/dtype.hpp"
#include "runtime/device/cpu_context.hpp"
#include "runtime/kernels/into.hpp"

namespace lockstep::kernels::cpu {

// A factor of a product as it lies in memory: element (i, j) is at i * row_stride + j * col_stride,
// and one of the two strides is 1. A transposed matrix has the strides swapped; nothing is copied.
struct Factor {
    const void* data;
    Dtype element;
    std::int64_t row_stride, col_stride;
};

// Selects oneDNN's implementation where oneDNN calculates the product. `first` is its first choice
// for the factors as they lie in memory. `packed` copies b before each product into the layout that
// it prefers. `general` is its general product, if it has one. None of them is the fastest for all
// shapes.
enum class Method : std::uint8_t { first, packed, general };

// Describes c [m, n] = or += a [m, k] * b [k, n] (+ bias [n] of c's type, if not null). Rows of c
// are c_stride apart. a and b have the same element type.
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

// Throws what a product of oneDNN ended with: std::bad_alloc if its status says that memory lacked,
// otherwise ErrorKind::dnnl. `product` is for the user, such as "a product of attention".
[[noreturn]] void product_failed(const std::string& product, int status);

// A cache of oneDNN's primitives by shape, with the memory they need: making a primitive costs more
// than running a small one. Only one thread may use the cache at a time. Products run on the OpenMP
// threads of the caller, thus inside a parallel region on the calling thread alone.
class MatmulCache {
public:
    MatmulCache();
    ~MatmulCache();
    MatmulCache(MatmulCache&&) noexcept;

    // Returns false and computes nothing if this processor has no such (bf16) products. Throws
    // as product_failed().
    bool run(const Product& product);

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Returns whether the product is calculated by code of our own, which packs both factors and for
// which it does not matter how their rows lie.
bool packs_factors(const Product& product) noexcept;

// Returns how many of a context's threads share a product of oneDNN: one if waking the others would
// take longer. This holds for the outputs of layers only, and does not change their numbers.
int product_team(const Product& product, int threads) noexcept;

// Runs the product on the context's threads. Empty products are allowed.
void multiply(device::CpuContext& ctx, const Product& product);

}  // namespace lockstep::kernels::cpu
