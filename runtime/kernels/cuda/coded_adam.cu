// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/adam_rule.hpp"
#include "runtime/kernels/cuda/primitives/reduction.hpp"
#include "runtime/kernels/optimizer_checks.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

constexpr int threads = 256, resident = 4;
constexpr int warps = threads / warp_size;
// A warp treats a cell; consecutive lanes have consecutive elements, this many rows of them.
constexpr int cell_rows = static_cast<int>(moment_cell) / warp_size;

// The shares of all codes. As a parameter of the kernel they are read once for each block.
struct Shares {
    std::array<float, 256> first, second;
};

struct SharedShares {
    float first[256], second[256];
    AdamRule::Update update;
};

struct Moment {
    std::uint8_t* codes;
    float* scales;
};
Moment moment_of(const CodedMoment<CudaSpace>& moment) noexcept {
    return {moment.codes.data(), moment.scales.data()};
}

// Codes one moment of a cell and keeps its scale.
template <DynamicMap map>
__device__ __forceinline__ void encode(const Moment& moment, const float (&values)[cell_rows],
                                       std::int64_t cell, std::int64_t first, std::int64_t size) {
    float most = 0;
#pragma unroll
    for (int row = 0; row < cell_rows; ++row) most = Largest{}(most, fabsf(values[row]));
    most = warp_reduce<Largest>(most);
    const float inverse = inverse_scale(most);
#pragma unroll
    for (int row = 0; row < cell_rows; ++row) {
        const std::int64_t i = first + row * warp_size;
        if (i < size) moment.codes[i] = moment_code<map>(values[row], inverse);
    }
    if (threadIdx.x % warp_size == 0) moment.scales[cell] = inverse > 0 ? most : 0.0f;
}

template <class T>
struct CodedAdamBody {
    AdamRule rule;
    const float* gradient;
    Weights<T> weights;
    Moment first_moment, second_moment;

    // Updates the cell's weights and leaves its moments in m and v; elements behind the end are 0.
    __device__ __forceinline__ void update(const SharedShares& shared, std::int64_t cell,
                                           std::int64_t first, std::int64_t size,
                                           float (&m)[cell_rows], float (&v)[cell_rows]) const {
        const AdamRule::Update& u = shared.update;
        const float scale1 = first_moment.scales[cell], scale2 = second_moment.scales[cell];
#pragma unroll
        for (int row = 0; row < cell_rows; ++row) {
            const std::int64_t i = first + row * warp_size;
            m[row] = v[row] = 0;
            if (i >= size) continue;
            const bool decay = rule.decays.at(i);
            float w[1];
            weights.read(i, w);
            w[0] *= decay ? u.shrink : 1.0f;
            const float g = gradient[i] * u.gradient_scale + (decay ? rule.l2 : 0.0f) * w[0];
            m[row] = shared.first[first_moment.codes[i]] * scale1;
            v[row] = shared.second[second_moment.codes[i]] * scale2;
            m[row] += rule.rest1 * (g - m[row]);
            v[row] = rule.beta2 * v[row] + rule.rest2 * g * g;
            w[0] -= u.step_size * m[row] / (sqrtf(v[row]) / u.root_correction2 + rule.epsilon);
            weights.write(i, w);
        }
    }
};

template <class T>
__global__ void __launch_bounds__(threads, resident)
    coded_adam_kernel(CodedAdamBody<T> body, Shares shares, std::int64_t size) {
    SharedShares& shared = shared_memory<SharedShares>();
    static_assert(threads == 256);
    shared.first[threadIdx.x] = shares.first.data()[threadIdx.x];
    shared.second[threadIdx.x] = shares.second.data()[threadIdx.x];
    if (threadIdx.x == 0) shared.update = body.rule.prepare();
    __syncthreads();
    if (shared.update.skip) return;
    constexpr auto cell_size = static_cast<std::int64_t>(moment_cell);
    const std::int64_t cells = (size + cell_size - 1) / cell_size;
    const std::int64_t lane = threadIdx.x % warp_size;
    std::int64_t cell = std::int64_t{blockIdx.x} * warps + threadIdx.x / warp_size;
    for (; cell < cells; cell += std::int64_t{gridDim.x} * warps) {
        const std::int64_t first = cell * cell_size + lane;
        float m[cell_rows], v[cell_rows];
        body.update(shared, cell, first, size, m, v);
        encode<DynamicMap::with_sign>(body.first_moment, m, cell, first, size);
        encode<DynamicMap::without_sign>(body.second_moment, v, cell, first, size);
    }
}

constexpr Shares all_shares{moment_shares(DynamicMap::with_sign),
                            moment_shares(DynamicMap::without_sign)};

}  // namespace

template <class T>
void coded_adam(CudaContext& ctx, const CodedAdam<T, CudaSpace>& o) {
    check(o);
    const CodedAdamBody<T> body{adam_rule(o.options, o.state, o.decays), o.gradient.data(),
                                weights_of(o.master, o.compute), moment_of(o.first_moment),
                                moment_of(o.second_moment)};
    const auto size = static_cast<std::int64_t>(o.gradient.size());
    const unsigned blocks = resident_blocks(
        ctx, size, std::int64_t{warps} * static_cast<std::int64_t>(moment_cell), resident);
    launch(ctx, coded_adam_kernel<T>, {blocks, threads}, body, all_shares, size);
}

template void coded_adam(CudaContext&, const CodedAdam<float, CudaSpace>&);
template void coded_adam(CudaContext&, const CodedAdam<bf16, CudaSpace>&);
template void coded_adam(CudaContext&, const CodedAdam<fp16, CudaSpace>&);

}  // namespace lockstep::kernels
