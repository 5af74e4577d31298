// SPDX-License-Identifier: Apache-2.0
#include "instructions/arithmetic.hpp"
#include "instructions/matrix.hpp"
#include "instructions/memory.hpp"
#include "runtime/kernels/cuda/primitives/launch.hpp"
#include "tests/runtime/kernels/cuda/instructions.hpp"

namespace lockstep::tests {

namespace {

using namespace kernels::cuda;

template <class T>
struct Tiles {
    alignas(16) T a[16][16], b[16][16], unread[16][8];
};

template <Stored b_stored, class T>
__global__ void multiply_kernel(const T* a, const T* b, float* c) {
    auto& tiles = shared_memory<Tiles<T>>();
    const unsigned lane = threadIdx.x;
    constexpr unsigned b_cols = b_stored == Stored::as_is ? 8 : 16;
    copy16_async(&tiles.a[lane / 2][lane % 2 * 8], a + lane * 8);
    const unsigned element = lane * 8 % 128;
    copy16_async_if(
        lane < 16,
        lane < 16 ? &tiles.b[element / b_cols][element % b_cols] : tiles.unread[lane - 16],
        b + element);
    end_copy_group();
    wait_copies<0>();
    __syncwarp();
    std::uint32_t a_words[4], b_words[4];
    load_matrices(a_words, &tiles.a[lane % 16][lane / 16 * 8]);
    // Only two matrices are needed: the last two addresses repeat them, and those values are not
    // used.
    if constexpr (b_stored == Stored::as_is)
        load_matrices_transposed(b_words, &tiles.b[lane % 16][0]);
    else
        load_matrices(b_words, &tiles.b[lane % 8][lane / 8 % 2 * 8]);
    float d[4] = {};
    multiply_16_8_16(d, a_words, {b_words[0], b_words[1]}, T{});
    for (unsigned i = 0; i < 4; ++i) c[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = d[i];
}

__global__ void powers_kernel(const float* x, float* y, std::size_t size) {
    if (threadIdx.x < size) store4(y + threadIdx.x, __float_as_uint(power_of_2(x[threadIdx.x])));
}

__global__ void inverses_kernel(const float* x, float* y, std::size_t size) {
    if (threadIdx.x < size) y[threadIdx.x] = fast_inverse(x[threadIdx.x]);
}

}  // namespace

void powers_of_2(device::CudaContext& ctx, CudaView<const float> x, CudaView<float> y) {
    launch(ctx, powers_kernel, {1, 32}, x.data(), y.data(), x.size());
}

void inverses(device::CudaContext& ctx, CudaView<const float> x, CudaView<float> y) {
    launch(ctx, inverses_kernel, {1, 32}, x.data(), y.data(), x.size());
}

template <class T>
void multiply_by_warp(device::CudaContext& ctx, CudaView<const T> a, CudaView<const T> b,
                      Stored b_stored, CudaView<float> c) {
    launch(ctx,
           b_stored == Stored::as_is ? multiply_kernel<Stored::as_is, T>
                                     : multiply_kernel<Stored::transposed, T>,
           {1, 32}, a.data(), b.data(), c.data());
}

template void multiply_by_warp(device::CudaContext&, CudaView<const bf16>, CudaView<const bf16>,
                               Stored, CudaView<float>);
template void multiply_by_warp(device::CudaContext&, CudaView<const fp16>, CudaView<const fp16>,
                               Stored, CudaView<float>);

}  // namespace lockstep::tests
