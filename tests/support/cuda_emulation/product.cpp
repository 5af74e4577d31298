// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/product.hpp"

#include <cmath>

#include "runtime/core/bf16.hpp"
#include "runtime/core/fp16.hpp"

// The seam's plain loop, where kernels run on the emulated device.
namespace lockstep::kernels::cuda {

namespace {

float finished(float x, Epilogue epilogue) {
    if (epilogue == Epilogue::relu) return x < 0.0f ? 0.0f : x;
    if (epilogue == Epilogue::gelu_tanh)
        return 0.5f * x * (1.0f + std::tanh(0.7978845608f * (x + 0.044715f * x * x * x)));
    return x;
}

template <class In>
float at(CudaMatrix<const In> m, Transpose transpose, std::int64_t row, std::int64_t col) {
    return static_cast<float>(transpose == Transpose::no ? m.data[row * m.stride + col]
                                                         : m.data[col * m.stride + row]);
}

}  // namespace

template <class In, class Out>
void multiply(device::CudaContext&, const Product<In, Out>& p) {
    const std::int64_t depth = p.transpose_a == Transpose::no ? p.a.cols : p.a.rows;
    require((p.transpose_a == Transpose::no ? p.a.rows : p.a.cols) == p.c.rows &&
                (p.transpose_b == Transpose::no ? p.b.cols : p.b.rows) == p.c.cols &&
                (p.transpose_b == Transpose::no ? p.b.rows : p.b.cols) == depth &&
                (p.bias.empty() || p.bias.size() == static_cast<std::size_t>(p.c.cols)),
            "product: shapes differ");
    for (std::int64_t i = 0; i < p.c.rows; ++i)
        for (std::int64_t j = 0; j < p.c.cols; ++j) {
            float sum = 0;
            for (std::int64_t k = 0; k < depth; ++k)
                sum += at(p.a, p.transpose_a, i, k) * at(p.b, p.transpose_b, k, j);
            Out& to = p.c.data[i * p.c.stride + j];
            float value = p.alpha * sum;
            if (p.beta != 0) value += p.beta * static_cast<float>(to);
            if (!p.bias.empty()) value += static_cast<float>(p.bias.data()[j]);
            to = static_cast<Out>(finished(value, p.epilogue));
        }
}

template void multiply(device::CudaContext&, const Product<float, float>&);
template void multiply(device::CudaContext&, const Product<bf16, bf16>&);
template void multiply(device::CudaContext&, const Product<bf16, float>&);
template void multiply(device::CudaContext&, const Product<fp16, fp16>&);
template void multiply(device::CudaContext&, const Product<fp16, float>&);

}  // namespace lockstep::kernels::cuda
