// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/matmul/matmul.hpp"

#include <omp.h>

#include <array>
#include <cstring>
#include <list>
#include <new>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <unordered_map>

#include "runtime/files/hash.hpp"
#include "runtime/kernels/cpu/avx2/float_product.hpp"
#include "runtime/kernels/cpu/matmul/matmul_primitive.hpp"
#include "runtime/kernels/cpu/primitives/kernel_cache.hpp"
#include "runtime/kernels/cpu/primitives/scratch.hpp"
#include "runtime/kernels/reduce.hpp"

namespace lockstep::kernels::cpu {

namespace {

constexpr std::size_t max_primitives = 1024;

// Contains everything that a primitive depends on; pointers are bound at execution.
using Key = std::array<std::int64_t, 13>;

struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept {
        return hash64(key.data(), sizeof(key));
    }
};

Key key_of(const Product& p) {
    const auto number = [](auto kind) { return static_cast<std::int64_t>(kind); };
    return {p.m,
            p.n,
            p.k,
            p.a.row_stride,
            p.a.col_stride,
            p.b.row_stride,
            p.b.col_stride,
            p.c_stride,
            number(p.a.element),
            number(p.c_element),
            number(p.method),
            number(p.into),
            number(p.bias != nullptr)};
}

}  // namespace

// The list begins with the least recently used primitive.
struct MatmulCache::State {
    dnnl::engine engine{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream{engine};
    std::list<std::pair<Key, ProductPrimitive>> primitives;
    std::unordered_map<Key, std::list<std::pair<Key, ProductPrimitive>>::iterator, KeyHash> by_key;
    ProductMemory memory;

    ProductPrimitive& find(const Product& p) {
        const Key key = key_of(p);
        if (const auto found = by_key.find(key); found != by_key.end()) {
            primitives.splice(primitives.end(), primitives, found->second);
            return found->second->second;
        }
        if (primitives.size() == max_primitives) {
            by_key.erase(primitives.front().first);
            primitives.pop_front();
        }
        primitives.emplace_back(key, ProductPrimitive(p, engine));
        by_key.emplace(key, std::prev(primitives.end()));
        return primitives.back().second;
    }
};

void product_failed(const std::string& product, int status) {
    if (status == dnnl_out_of_memory) throw std::bad_alloc();
    throw Error(ErrorKind::dnnl,
                "oneDNN failed in " + product + " (status " + std::to_string(status) + ")");
}

MatmulCache::MatmulCache() : state_(std::make_unique<State>()) {}
MatmulCache::~MatmulCache() = default;
MatmulCache::MatmulCache(MatmulCache&&) noexcept = default;

bool MatmulCache::run(const Product& p) {
    try {
        ProductPrimitive& primitive = state_->find(p);
        if (!primitive.native()) return false;
        primitive.run(p, state_->stream, state_->memory);
        return true;
    } catch (const dnnl::error& error) {
        product_failed("a matrix product of " + std::to_string(p.m) + " x " + std::to_string(p.k) +
                           " x " + std::to_string(p.n),
                       error.status);
    }
}

namespace {

// Copies the rows of a bf16 factor (or its columns, if they are contiguous) into packed fp32.
Factor to_f32(device::CpuContext& ctx, const Factor& from, std::int64_t rows, std::int64_t cols,
              ScratchMemory::Slot slot) {
    const bool by_rows = from.col_stride == 1;
    const std::int64_t lines = by_rows ? rows : cols;
    const std::int64_t length = by_rows ? cols : rows;
    const std::int64_t stride = by_rows ? from.row_stride : from.col_stride;
    const auto to = scratch<float>(ctx, slot, lines * length);
    const auto* source = static_cast<const bf16*>(from.data);
    for (std::int64_t i = 0; i < lines; ++i)
        cast<bf16, float>(ctx, HostView<const bf16>(source + i * stride, length),
                          to.subview(i * length, length));
    if (by_rows) return {to.data(), Dtype::fp32, length, 1};
    return {to.data(), Dtype::fp32, 1, length};
}

// Computes the product in fp32 on processors without bf16 products, and rounds once at the end.
void multiply_converted(device::CpuContext& ctx, const Product& p) {
    Product q = p;
    q.a = to_f32(ctx, p.a, p.m, p.k, ScratchMemory::Slot::factor_a);
    q.b = to_f32(ctx, p.b, p.k, p.n, ScratchMemory::Slot::factor_b);
    if (p.c_element == Dtype::fp32) return multiply(ctx, q);
    const auto c = scratch<float>(ctx, ScratchMemory::Slot::result, p.m * p.n + p.n);
    auto* target = static_cast<bf16*>(p.c);
    if (p.into == Into::add)
        for (std::int64_t i = 0; i < p.m; ++i)
            cast<bf16, float>(ctx, HostView<const bf16>(target + i * p.c_stride, p.n),
                              c.subview(i * p.n, p.n));
    q.c = c.data();
    q.c_element = Dtype::fp32;
    q.c_stride = p.n;
    if (p.bias != nullptr) {
        const auto bias = c.subview(p.m * p.n, p.n);
        cast<bf16, float>(ctx, HostView<const bf16>(static_cast<const bf16*>(p.bias), p.n), bias);
        q.bias = bias.data();
    }
    multiply(ctx, q);
    for (std::int64_t i = 0; i < p.m; ++i)
        cast<float, bf16>(ctx, HostView<const float>(c.subview(i * p.n, p.n)),
                          HostView<bf16>(target + i * p.c_stride, p.n));
}

avx2::FloatFactor factor_of(const Factor& from, std::int64_t rows, std::int64_t cols) noexcept {
    const auto* data = static_cast<const float*>(from.data);
    if (from.col_stride == 1) return {{data, rows, cols, from.row_stride}, avx2::Side::plain};
    return {{data, cols, rows, from.col_stride}, avx2::Side::transposed};
}

avx2::FloatProduct float_product(const Product& p) noexcept {
    // a's outer dimension is its rows, b's its columns.
    const Factor a_by_columns{p.a.data, p.a.element, p.a.col_stride, p.a.row_stride};
    return {factor_of(a_by_columns, p.k, p.m), factor_of(p.b, p.k, p.n),
            static_cast<const float*>(p.bias), p.into,
            HostMatrix<float>(static_cast<float*>(p.c), p.m, p.n, p.c_stride)};
}

// oneDNN divides a product for the calling thread's number of threads, both when it makes the
// primitive and when it runs it.
class Team {
public:
    explicit Team(int threads) noexcept : before_(omp_get_max_threads()) {
        omp_set_num_threads(threads);
    }
    ~Team() { omp_set_num_threads(before_); }
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

private:
    int before_;
};

}  // namespace

// One row takes about 15 microseconds at most, and several rows 5. Of larger products of several
// rows oneDNN may divide the inner elements, which makes other sums.
int product_team(const Product& p, int threads) noexcept {
    constexpr std::int64_t least_of_row = 131072, least_of_rows = 65536;
    const bool of_lines = p.a.col_stride == 1 && p.b.row_stride == 1 && p.into == Into::overwrite;
    const std::int64_t least = p.m == 1 ? least_of_row : least_of_rows;
    return of_lines && p.m * p.n * p.k < least ? 1 : threads;
}

bool packs_factors(const Product& p) noexcept {
    return avx2::usable() && p.a.element == Dtype::fp32 && p.c_element == Dtype::fp32 &&
           avx2::suits(float_product(p));
}

void multiply(device::CpuContext& ctx, const Product& p) {
    if (p.m == 0 || p.n == 0) return;
    require(p.k > 0, "a product needs at least one inner element");
    if (packs_factors(p)) return avx2::multiply(ctx, float_product(p));
    const Team team(product_team(p, ctx.threads()));
    if (cached<MatmulCache>(ctx).run(p)) return;
    if (p.a.element != Dtype::bf16)
        throw Error(ErrorKind::dnnl, "oneDNN has no fp32 matrix product");
    multiply_converted(ctx, p);
}

}  // namespace lockstep::kernels::cpu
