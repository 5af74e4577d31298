// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "runtime/device/buffer.hpp"
#include "runtime/kernels/cpu/matmul/matmul.hpp"

namespace lockstep::kernels::cpu {

// Memory that a product needs in addition to its operands. It is kept for the next product.
struct ProductMemory {
    device::Buffer<std::byte, HostSpace> scratchpad, packed;
};

// oneDNN's primitive for products of one shape. Operands are bound at each run.
class ProductPrimitive {
public:
    ProductPrimitive(const Product& product, const dnnl::engine& engine);

    // Returns false if this processor has no bf16 products; run() must not be called then.
    bool native() const noexcept { return native_; }
    void run(const Product& product, dnnl::stream& stream, ProductMemory& memory);

private:
    using Descriptor = dnnl::memory::desc;
    void bind(const Product& product, const Descriptor& plain_b,
              const dnnl::matmul::primitive_desc& chosen, const dnnl::engine& engine);

    bool native_ = true;
    bool packs_ = false;  // b is copied before each product
    std::size_t scratchpad_bytes_ = 0, packed_bytes_ = 0;
    dnnl::matmul matmul_;
    dnnl::reorder pack_;
    dnnl::memory a_, b_, packed_b_, bias_, c_, scratchpad_;
    std::unordered_map<int, dnnl::memory> arguments_;
};

}  // namespace lockstep::kernels::cpu
