// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/matmul.hpp"

#include <array>
#include <cstring>
#include <list>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <string_view>
#include <unordered_map>

#include "runtime/core/hash.hpp"
#include "runtime/kernels/cpu/kernel_cache.hpp"
#include "runtime/kernels/cpu/scratch.hpp"
#include "runtime/kernels/reduce.hpp"

namespace lockstep::kernels::cpu {

namespace {

using Descriptor = dnnl::memory::desc;

constexpr std::size_t most_primitives = 1024;

// All that a primitive depends on; pointers are bound at execution.
using Key = std::array<std::int64_t, 9>;

struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept {
        return hash64(key.data(), sizeof(key));
    }
};

Key key_of(const Product& p) {
    const auto kinds = static_cast<std::int64_t>(p.a.element) * 8 +
                       static_cast<std::int64_t>(p.c_element) * 4 +
                       static_cast<std::int64_t>(p.method) * 16 + (p.bias != nullptr ? 2 : 0) +
                       static_cast<std::int64_t>(p.accumulate);
    return {p.m,        p.n,  p.k, p.a.row_stride, p.a.col_stride, p.b.row_stride, p.b.col_stride,
            p.c_stride, kinds};
}

dnnl::memory::data_type type_of(Element element) {
    return element == Element::f32 ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
}

// oneDNN's first choice on AMX is made for it.
bool wants_general(const Product& p) {
    return p.method == Method::general &&
           (p.a.element == Element::f32 ||
            dnnl::get_effective_cpu_isa() != dnnl::cpu_isa::avx512_core_amx);
}

// The general product where it is wanted and there is one, else the first choice.
dnnl::matmul::primitive_desc described(const Product& p, const dnnl::matmul::desc& operation,
                                       const dnnl::primitive_attr& attributes,
                                       const dnnl::engine& engine) {
    dnnl::matmul::primitive_desc choice(operation, attributes, engine, true);
    if (!choice || !wants_general(p)) return choice;
    do {
        if (std::string_view(choice.impl_info_str()).starts_with("gemm:jit")) return choice;
    } while (choice.next_impl());
    return dnnl::matmul::primitive_desc(operation, attributes, engine, true);
}

// The reference implementation is a hundred times slower than converting to fp32 and back.
bool is_slow(const dnnl::matmul::primitive_desc& descriptor) {
    return std::string_view(descriptor.impl_info_str()).starts_with("ref");
}

struct Primitive {
    explicit Primitive(const Product& p, const dnnl::engine& engine);
    void run(const Product& p, dnnl::stream& stream, void* scratchpad);

    bool native = true;  // false: this processor has no products of bf16
    std::size_t scratchpad_bytes = 0;
    dnnl::matmul matmul;
    dnnl::memory a, b, bias, c, scratchpad;
    std::unordered_map<int, dnnl::memory> arguments;
};

Primitive::Primitive(const Product& p, const dnnl::engine& engine) {
    const auto type = type_of(p.a.element);
    const auto c_type = type_of(p.c_element);
    const Descriptor a_md({p.m, p.k}, type, {p.a.row_stride, p.a.col_stride});
    const Descriptor b_md({p.k, p.n}, type, {p.b.row_stride, p.b.col_stride});
    const Descriptor bias_md({1, p.n}, c_type, {p.n, 1});
    const Descriptor c_md({p.m, p.n}, c_type, {p.c_stride, 1});
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (p.accumulate == Accumulate::add) {
        dnnl::post_ops post_ops;
        post_ops.append_sum(1.0f);
        attributes.set_post_ops(post_ops);
    }
    const auto operation = p.bias != nullptr ? dnnl::matmul::desc(a_md, b_md, bias_md, c_md)
                                             : dnnl::matmul::desc(a_md, b_md, c_md);
    const auto descriptor = described(p, operation, attributes, engine);
    native =
        static_cast<bool>(descriptor) && !(p.a.element == Element::bf16 && is_slow(descriptor));
    if (!native) return;
    matmul = dnnl::matmul(descriptor);
    scratchpad_bytes = descriptor.scratchpad_desc().get_size();
    const auto unbound = [&](const Descriptor& md) {
        return dnnl::memory(md, engine, DNNL_MEMORY_NONE);
    };
    a = unbound(a_md);
    b = unbound(b_md);
    bias = unbound(bias_md);
    c = unbound(c_md);
    scratchpad = unbound(descriptor.scratchpad_desc());
    arguments = {{DNNL_ARG_SRC, a},
                 {DNNL_ARG_WEIGHTS, b},
                 {DNNL_ARG_DST, c},
                 {DNNL_ARG_SCRATCHPAD, scratchpad}};
    if (p.bias != nullptr) arguments.emplace(DNNL_ARG_BIAS, bias);
}

void Primitive::run(const Product& p, dnnl::stream& stream, void* memory) {
    // The library's interface has no const memory; inputs are only read.
    a.set_data_handle(const_cast<void*>(p.a.data));
    b.set_data_handle(const_cast<void*>(p.b.data));
    if (p.bias != nullptr) bias.set_data_handle(const_cast<void*>(p.bias));
    c.set_data_handle(p.c);
    scratchpad.set_data_handle(memory);
    matmul.execute(stream, arguments);
    stream.wait();
}

}  // namespace

// Least recently used first.
struct MatmulCache::State {
    dnnl::engine engine{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream{engine};
    std::list<std::pair<Key, Primitive>> primitives;
    std::unordered_map<Key, std::list<std::pair<Key, Primitive>>::iterator, KeyHash> by_key;
    device::Buffer<std::byte, HostSpace> scratchpad;

    Primitive& find(const Product& p) {
        const Key key = key_of(p);
        if (const auto found = by_key.find(key); found != by_key.end()) {
            primitives.splice(primitives.end(), primitives, found->second);
            return found->second->second;
        }
        if (primitives.size() == most_primitives) {
            by_key.erase(primitives.front().first);
            primitives.pop_front();
        }
        primitives.emplace_back(key, Primitive(p, engine));
        by_key.emplace(key, std::prev(primitives.end()));
        return primitives.back().second;
    }
};

MatmulCache::MatmulCache() : state_(std::make_unique<State>()) {}
MatmulCache::~MatmulCache() = default;
MatmulCache::MatmulCache(MatmulCache&&) noexcept = default;

bool MatmulCache::run(const Product& p) {
    try {
        Primitive& primitive = state_->find(p);
        if (!primitive.native) return false;
        auto& memory = state_->scratchpad;
        if (memory.size() < primitive.scratchpad_bytes)
            memory = device::Buffer<std::byte, HostSpace>(primitive.scratchpad_bytes,
                                                          device::Content::undefined);
        primitive.run(p, state_->stream, memory.view().data());
        return true;
    } catch (const dnnl::error& error) {
        throw Error(ErrorKind::dnnl, "oneDNN failed in a matrix product of " + std::to_string(p.m) +
                                         " x " + std::to_string(p.k) + " x " + std::to_string(p.n) +
                                         ": " + error.what() + " (status " +
                                         std::to_string(static_cast<int>(error.status)) + ")");
    }
}

namespace {

// Copies rows (of whichever dimension is contiguous) of a bf16 factor into packed fp32.
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
    if (by_rows) return {to.data(), Element::f32, length, 1};
    return {to.data(), Element::f32, 1, length};
}

// For processors without bf16 products: the same in fp32, rounded once at the end.
void multiply_converted(device::CpuContext& ctx, const Product& p) {
    Product q = p;
    q.a = to_f32(ctx, p.a, p.m, p.k, ScratchMemory::Slot::factor_a);
    q.b = to_f32(ctx, p.b, p.k, p.n, ScratchMemory::Slot::factor_b);
    if (p.c_element == Element::f32) return multiply(ctx, q);
    const auto c = scratch<float>(ctx, ScratchMemory::Slot::result, p.m * p.n + p.n);
    auto* target = static_cast<bf16*>(p.c);
    if (p.accumulate == Accumulate::add)
        for (std::int64_t i = 0; i < p.m; ++i)
            cast<bf16, float>(ctx, HostView<const bf16>(target + i * p.c_stride, p.n),
                              c.subview(i * p.n, p.n));
    q.c = c.data();
    q.c_element = Element::f32;
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

}  // namespace

void multiply(device::CpuContext& ctx, const Product& p) {
    if (p.m == 0 || p.n == 0) return;
    require(p.k > 0, "a product needs at least one inner element");
    if (cached<MatmulCache>(ctx).run(p)) return;
    if (p.a.element != Element::bf16)
        throw Error(ErrorKind::dnnl, "oneDNN has no fp32 matrix product");
    multiply_converted(ctx, p);
}

}  // namespace lockstep::kernels::cpu
