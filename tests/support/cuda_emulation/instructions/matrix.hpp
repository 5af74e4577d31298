// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

#include "instructions/convert.hpp"
#include "instructions/memory.hpp"

// This is the emulated counterpart of
// runtime/kernels/cuda/instructions_ptx/instructions/matrix.hpp.
namespace lockstep::kernels::cuda {

namespace emulation = tests::cuda_emulation;

template <class T>
struct MatrixOperands {
    const std::uint32_t *a, *b;
    float* d;
};

// Computes the whole product from the registers of all lanes and writes it back to them.
template <class T>
void multiply_warp(const emulation::Operands& operands) {
    float a[16][16], b[16][8];
    for (unsigned lane = 0; lane < 32; ++lane) {
        const auto& own = *static_cast<const MatrixOperands<T>*>(operands[lane]);
        const unsigned group = lane / 4, pair = lane % 4 * 2;
        for (unsigned i = 0; i < 4; ++i)
            widen_pair(own.a[i], &a[group + i % 2 * 8][pair + i / 2 * 8], T{});
        for (unsigned i = 0; i < 2; ++i) {
            float values[2];
            widen_pair(own.b[i], values, T{});
            b[pair + i * 8][group] = values[0];
            b[pair + i * 8 + 1][group] = values[1];
        }
    }
    for (unsigned lane = 0; lane < 32; ++lane) {
        const auto& own = *static_cast<const MatrixOperands<T>*>(operands[lane]);
        for (unsigned i = 0; i < 4; ++i) {
            const unsigned row = lane / 4 + i / 2 * 8, col = lane % 4 * 2 + i % 2;
            for (unsigned k = 0; k < 16; ++k) own.d[i] += a[row][k] * b[k][col];
        }
    }
}

template <class T>
void multiply_16_8_16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], T) {
    MatrixOperands<T> operands{a, b, d};
    emulation::wait_for_lanes(0xFFFFFFFFu, &operands, &multiply_warp<T>);
}

struct MatrixRow {
    const void* row;
    std::uint32_t* words;
};

enum class Order { rows, transposed };

template <Order order>
void load_for_warp(const emulation::Operands& operands) {
    for (unsigned matrix = 0; matrix < 4; ++matrix) {
        std::uint16_t values[8][8];
        for (unsigned i = 0; i < 8; ++i)
            std::memcpy(values[i], static_cast<const MatrixRow*>(operands[matrix * 8 + i])->row,
                        16);
        for (unsigned lane = 0; lane < 32; ++lane) {
            const unsigned group = lane / 4, pair = lane % 4 * 2;
            const std::uint16_t low =
                order == Order::rows ? values[group][pair] : values[pair][group];
            const std::uint16_t high =
                order == Order::rows ? values[group][pair + 1] : values[pair + 1][group];
            static_cast<const MatrixRow*>(operands[lane])->words[matrix] =
                static_cast<std::uint32_t>(high) << 16 | low;
        }
    }
}

inline void load_matrices(std::uint32_t (&words)[4], const void* row) {
    require_aligned(row);
    MatrixRow own{row, words};
    emulation::wait_for_lanes(0xFFFFFFFFu, &own, &load_for_warp<Order::rows>);
}
inline void load_matrices_transposed(std::uint32_t (&words)[4], const void* row) {
    require_aligned(row);
    MatrixRow own{row, words};
    emulation::wait_for_lanes(0xFFFFFFFFu, &own, &load_for_warp<Order::transposed>);
}

}  // namespace lockstep::kernels::cuda
