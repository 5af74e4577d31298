// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cpu/matmul/matmul_primitive.hpp"

#include <string_view>

namespace lockstep::kernels::cpu {

namespace {

using Descriptor = dnnl::memory::desc;
using Choice = dnnl::matmul::primitive_desc;

dnnl::memory::data_type type_of(Dtype element) {
    return element == Dtype::fp32 ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
}

struct Wanted {
    dnnl::matmul::desc operation;
    dnnl::primitive_attr attributes;
};

Wanted wanted(const Product& p, const Descriptor& b) {
    const auto type = type_of(p.a.element), c_type = type_of(p.c_element);
    const Descriptor a({p.m, p.k}, type, {p.a.row_stride, p.a.col_stride});
    const Descriptor bias({1, p.n}, c_type, {p.n, 1});
    const Descriptor c({p.m, p.n}, c_type, {p.c_stride, 1});
    Wanted w{p.bias != nullptr ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c),
             {}};
    w.attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (p.into == Into::add) {
        dnnl::post_ops post_ops;
        post_ops.append_sum(1.0f);
        w.attributes.set_post_ops(post_ops);
    }
    return w;
}

Choice first_choice(const Wanted& w, const dnnl::engine& engine) {
    return Choice(w.operation, w.attributes, engine, true);
}

// oneDNN's first choice on AMX is optimised for AMX, so the general product is not used there.
bool wants_general(const Product& p) {
    return p.method == Method::general &&
           (p.a.element == Dtype::fp32 ||
            dnnl::get_effective_cpu_isa() != dnnl::cpu_isa::avx512_core_amx);
}

// If the preferred layout has no blocks, it is only another plain one, and a copy gains nothing.
bool has_blocks(const Choice& choice) {
    return choice && choice.weights_desc().data.format_desc.blocking.inner_nblks > 0;
}

// Returns the implementation that the method asks for if oneDNN has it, else the first choice.
Choice choose(const Product& p, const Descriptor& plain_b, const dnnl::engine& engine) {
    if (p.method == Method::packed) {
        const Descriptor any(plain_b.dims(), plain_b.data_type(), dnnl::memory::format_tag::any);
        Choice choice = first_choice(wanted(p, any), engine);
        if (has_blocks(choice)) return choice;
    }
    const Wanted plain = wanted(p, plain_b);  // must outlive `choice`: next_impl() reads it again
    Choice choice = first_choice(plain, engine);
    if (!choice || !wants_general(p)) return choice;
    do {
        if (std::string_view(choice.impl_info_str()).starts_with("gemm:jit")) return choice;
    } while (choice.next_impl());
    return first_choice(plain, engine);
}

// Detects the reference implementation, which is a hundred times slower than converting to fp32 and
// back.
bool is_slow(const Choice& choice) {
    return std::string_view(choice.impl_info_str()).starts_with("ref");
}

void* at_least(std::size_t bytes, device::Buffer<std::byte, HostSpace>& buffer) {
    if (buffer.size() < bytes) {
        buffer = {};  // frees the old memory before the new is allocated
        buffer = device::Buffer<std::byte, HostSpace>(bytes, device::Content::undefined);
    }
    return buffer.view().data();
}

}  // namespace

ProductPrimitive::ProductPrimitive(const Product& p, const dnnl::engine& engine) {
    const Descriptor plain_b({p.k, p.n}, type_of(p.b.element), {p.b.row_stride, p.b.col_stride});
    const Choice chosen = choose(p, plain_b, engine);
    native_ = static_cast<bool>(chosen) && !(p.a.element == Dtype::bf16 && is_slow(chosen));
    if (native_) bind(p, plain_b, chosen, engine);
}

void ProductPrimitive::bind(const Product& p, const Descriptor& plain_b, const Choice& chosen,
                            const dnnl::engine& engine) {
    const auto unbound = [&](const Descriptor& descriptor) {
        return dnnl::memory(descriptor, engine, DNNL_MEMORY_NONE);
    };
    matmul_ = dnnl::matmul(chosen);
    scratchpad_bytes_ = chosen.scratchpad_desc().get_size();
    a_ = unbound(chosen.src_desc());
    b_ = unbound(plain_b);
    bias_ = unbound(chosen.bias_desc());
    c_ = unbound(chosen.dst_desc());
    scratchpad_ = unbound(chosen.scratchpad_desc());
    packs_ = has_blocks(chosen);
    if (packs_) {
        packed_bytes_ = chosen.weights_desc().get_size();
        packed_b_ = unbound(chosen.weights_desc());
        pack_ = dnnl::reorder(b_, packed_b_);
    }
    arguments_ = {{DNNL_ARG_SRC, a_},
                  {DNNL_ARG_WEIGHTS, packs_ ? packed_b_ : b_},
                  {DNNL_ARG_DST, c_},
                  {DNNL_ARG_SCRATCHPAD, scratchpad_}};
    if (p.bias != nullptr) arguments_.emplace(DNNL_ARG_BIAS, bias_);
}

void ProductPrimitive::run(const Product& p, dnnl::stream& stream, ProductMemory& memory) {
    // The library's interface has no const memory, but inputs are only read.
    a_.set_data_handle(const_cast<void*>(p.a.data));
    b_.set_data_handle(const_cast<void*>(p.b.data));
    if (p.bias != nullptr) bias_.set_data_handle(const_cast<void*>(p.bias));
    c_.set_data_handle(p.c);
    scratchpad_.set_data_handle(at_least(scratchpad_bytes_, memory.scratchpad));
    if (packs_) {
        packed_b_.set_data_handle(at_least(packed_bytes_, memory.packed));
        pack_.execute(stream, b_, packed_b_);
    }
    matmul_.execute(stream, arguments_);
    stream.wait();
}

}  // namespace lockstep::kernels::cpu
