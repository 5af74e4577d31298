// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/primitives/flat_kernels.hpp"
#include "runtime/kernels/cuda/primitives/sums.hpp"
#include "runtime/kernels/reduce.hpp"

namespace lockstep::kernels {

namespace {

using namespace cuda;

// Tests the bits of the exponent: infinities and NaN have all of them set.
struct Nonfinite {
    using Value = long long;
    __device__ __forceinline__ long long operator()(float x) const {
        return (__float_as_uint(x) & 0x7F800000u) == 0x7F800000u ? 1 : 0;
    }
};

template <class From, class To>
struct Cast {
    struct Always {
        bool skip = false;
    };
    static constexpr int vectors = 4, resident = 8;
    template <int width>
    struct Read {
        float values[width];
    };

    const From* from;
    To* to;

    __device__ Always prepare() const { return {}; }
    template <int width>
    __device__ __forceinline__ Read<width> read(std::int64_t i, Always) const {
        Read<width> r;
        load(from + i, r.values);
        return r;
    }
    template <int width>
    __device__ __forceinline__ void write(std::int64_t i, const Read<width>& r, Always) const {
        store(to + i, r.values);
    }
};

}  // namespace

void add_sum_of_squares(CudaContext& ctx, CudaView<const float> x, CudaView<double> total) {
    require(total.size() == 1, "a sum goes into one element");
    sum_to<Square>(ctx, x, total.data());
}

void add_count_nonfinite(CudaContext& ctx, CudaView<const float> x, CudaView<std::int64_t> total) {
    require(total.size() == 1, "a sum goes into one element");
    static_assert(sizeof(Nonfinite::Value) == sizeof(std::int64_t));
    sum_to<Nonfinite>(ctx, x, reinterpret_cast<Nonfinite::Value*>(total.data()));
}

void reserve_sums(CudaContext& ctx, std::size_t elements) {
    sum_parts<double>(ctx, elements);
    ctx.cached<FinishedBlocks>();
}

void fill_zero(CudaContext& ctx, CudaView<float> x) {
    if (x.empty()) return;
    device::check(cudaMemsetAsync(x.data(), 0, x.size() * sizeof(float), ctx.stream()),
                  "cudaMemsetAsync");
}

template <class From, class To>
void cast(CudaContext& ctx, CudaView<const From> from, CudaView<To> to) {
    require(from.size() == to.size(), "cast: sizes differ");
    for_each_element(ctx, Cast<From, To>{from.data(), to.data()}, from.size(), from.data(),
                     to.data());
}

template void cast(CudaContext&, CudaView<const float>, CudaView<float>);
template void cast(CudaContext&, CudaView<const float>, CudaView<bf16>);
template void cast(CudaContext&, CudaView<const float>, CudaView<fp16>);
template void cast(CudaContext&, CudaView<const bf16>, CudaView<float>);
template void cast(CudaContext&, CudaView<const fp16>, CudaView<float>);

}  // namespace lockstep::kernels
