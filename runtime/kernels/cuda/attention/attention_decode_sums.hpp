// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cmath>

#include "instructions/arithmetic.hpp"
#include "runtime/kernels/cuda/primitives/vector_access.hpp"

// This is a softmax over a stream of keys, with its weighted sum of values. Groups of lanes hold
// parts of it and write them as records, which are then merged.
namespace lockstep::kernels::cuda {

// The largest score, the sum of the probabilities relative to it, and the values weighted by these
// probabilities. If there is no key, they are minus infinity and zeros.
struct Softmax {
    float largest = -INFINITY, sum = 0.0f, value = 0.0f;
};

// Returns column c of the merged `count` records. A record is {largest, sum, values [head_dim]}.
__device__ __forceinline__ Softmax merge(const float* records, int count, int head_dim, int c) {
    Softmax all;
    for (int i = 0; i < count; ++i) all.largest = fmaxf(all.largest, records[i * (head_dim + 2)]);
    for (int i = 0; i < count; ++i) {
        const float* record = records + i * (head_dim + 2);
        // A record without a key adds nothing; the difference of two infinities would be NaN.
        const float factor = record[1] == 0.0f ? 0.0f : power_of_2(record[0] - all.largest);
        all.sum += record[1] * factor;
        all.value += record[2 + c] * factor;
    }
    return all;
}

// The columns of a head that a lane holds: `parts` groups of `width` columns. at() returns a
// group's first column.
template <int width, int lanes, int parts>
struct Columns {
    int lane = static_cast<int>(threadIdx.x) % lanes;

    __device__ __forceinline__ int at(int part) const { return (part * lanes + lane) * width; }

    template <class T>
    __device__ __forceinline__ void read(const T* from, bool inside, int head_dim,
                                         float (&to)[parts][width]) const {
#pragma unroll
        for (int part = 0; part < parts; ++part) {
#pragma unroll
            for (float& value : to[part]) value = 0.0f;
            if (inside && at(part) < head_dim) load(from + at(part), to[part]);
        }
    }
};

// A lane's part of the sums over the keys of its group of lanes.
template <int width, int lanes, int parts>
struct LaneSums {
    float largest = -INFINITY, sum = 0.0f;
    float values[parts][width] = {};

    __device__ __forceinline__ static float dot(const float (&a)[parts][width],
                                                const float (&b)[parts][width]) {
        float result = 0.0f;
#pragma unroll
        for (int part = 0; part < parts; ++part)
#pragma unroll
            for (int j = 0; j < width; ++j) result += a[part][j] * b[part][j];
#pragma unroll
        for (int distance = lanes / 2; distance > 0; distance /= 2)
            result += __shfl_xor_sync(0xFFFFFFFFu, result, distance, lanes);
        return result;
    }

    template <int keys>
    __device__ __forceinline__ void add(const float (&scores)[keys],
                                        const float (&v)[keys][parts][width]) {
        float now = largest;
#pragma unroll
        for (const float score : scores) now = fmaxf(now, score);
        const float shift = now == -INFINITY ? 0.0f : now;  // zero before the first key
        const float correction = power_of_2(largest - shift);
        largest = now;
        sum *= correction;
#pragma unroll
        for (auto& part : values)
#pragma unroll
            for (float& value : part) value *= correction;
#pragma unroll
        for (int key = 0; key < keys; ++key) {
            const float p = power_of_2(scores[key] - shift);
            sum += p;
#pragma unroll
            for (int part = 0; part < parts; ++part)
#pragma unroll
                for (int j = 0; j < width; ++j) values[part][j] += p * v[key][part][j];
        }
    }

    __device__ __forceinline__ void write(float* record, int head_dim,
                                          const Columns<width, lanes, parts>& columns) const {
        if (columns.lane == 0) {
            record[0] = largest;
            record[1] = sum;
        }
#pragma unroll
        for (int part = 0; part < parts; ++part)
#pragma unroll
            for (int j = 0; j < width; ++j)
                if (columns.at(part) + j < head_dim)
                    record[2 + columns.at(part) + j] = values[part][j];
    }
};

}  // namespace lockstep::kernels::cuda
