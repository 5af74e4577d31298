// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "runtime/core/bf16.hpp"
#include "runtime/core/fp16.hpp"

// These functions are the tensor core instructions of a warp. The PTX manual shows which registers
// hold which elements for each shape. All 32 lanes must call them together.
namespace lockstep::kernels::cuda {

// Computes d [16, 8] += a [16, 16] b [16, 8]. Let group = lane / 4 and pair = lane % 4. d[0..1] is
// row group, columns 2 pair and 2 pair + 1; d[2..3] is row group + 8. Each word of a holds two
// values: a[0] from (group, 2 pair) on, a[1] from (group + 8, 2 pair), a[2] from (group, 2 pair +
// 8), a[3] from (group + 8, 2 pair + 8). b[0] holds rows 2 pair and 2 pair + 1 of column group,
// b[1] rows 2 pair + 8 and 2 pair + 9.
__device__ __forceinline__ void multiply_16_8_16(float (&d)[4], const std::uint32_t (&a)[4],
                                                 const std::uint32_t (&b)[2], bf16) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ void multiply_16_8_16(float (&d)[4], const std::uint32_t (&a)[4],
                                                 const std::uint32_t (&b)[2], fp16) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Loads four 8 x 8 matrices of 16-bit values from shared memory. Lane l passes the address of row
// l % 8 of matrix l / 8, a multiple of 16. Its words[i] receives row l / 4, columns 2 (l % 4) and
// 2 (l % 4) + 1, of matrix i.
__device__ __forceinline__ void load_matrices(std::uint32_t (&words)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(row)))
                 : "memory");
}
// Loads the transposed matrices in the same way.
__device__ __forceinline__ void load_matrices_transposed(std::uint32_t (&words)[4],
                                                         const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(row)))
                 : "memory");
}

}  // namespace lockstep::kernels::cuda
