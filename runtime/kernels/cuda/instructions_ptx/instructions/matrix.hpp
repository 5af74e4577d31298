// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "runtime/core/bf16.hpp"
#include "runtime/core/fp16.hpp"

// The tensor cores' instructions by warps, on the registers that PTX's manual shows for each shape.
// All 32 lanes call them together.
namespace lockstep::kernels::cuda {

// d [16, 8] += a [16, 16] b [16, 8]. With group = lane / 4 and pair = lane % 4: d[0..1] is row
// group, columns 2 pair and on; d[2..3] row group + 8. a[0] holds (group, 2 pair), a[1] (group + 8,
// 2 pair), a[2] (group, 2 pair + 8), a[3] (group + 8, 2 pair + 8), two values each; b[0] rows 2
// pair and on of column group, b[1] rows 2 pair + 8 and on.
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

// Four 8 x 8 matrices of 16-bit values from shared memory: lane l gives the address of row l % 8 of
// matrix l / 8, a multiple of 16, and gets of matrix i in words[i] row l / 4, columns 2 (l % 4) and
// on.
__device__ __forceinline__ void load_matrices(std::uint32_t (&words)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(row)))
                 : "memory");
}
// The same of the transposed matrices.
__device__ __forceinline__ void load_matrices_transposed(std::uint32_t (&words)[4],
                                                         const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(row)))
                 : "memory");
}

}  // namespace lockstep::kernels::cuda
