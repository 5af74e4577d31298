// SPDX-License-Identifier: Apache-2.0
#include <cublasLt.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "runtime/core/bf16.hpp"
#include "runtime/core/fp16.hpp"

// Algorithm 0 is expected to be the fastest, 1 is the fastest, 2 does not run, 3 is slow, 4 needs C
// and D at the same address. If sums in the output's type are allowed, all algorithms split sums
// into two parts and add them in that type.
struct EmulatedCublasLt {};

namespace {

using lockstep::bf16;
using lockstep::fp16;

constexpr int algorithms = 5, broken_algorithm = 2, in_place_algorithm = 4;
constexpr float milliseconds_of[algorithms] = {2.0f, 1.0f, 0.5f, 3.0f, 4.0f};
constexpr std::size_t workspace_needed = 4096;

std::atomic<int> searches{0}, last_algorithm{-1};

// Accesses a column-major matrix of any of the three types.
struct Matrix {
    cudaDataType type;
    void* data;
    std::int64_t stride;

    float at(std::uint64_t row, std::uint64_t col) const {
        const auto i = place(row, col);
        if (type == CUDA_R_16BF) return static_cast<float>(static_cast<const bf16*>(data)[i]);
        if (type == CUDA_R_16F) return static_cast<float>(static_cast<const fp16*>(data)[i]);
        return static_cast<const float*>(data)[i];
    }
    void put(std::uint64_t row, std::uint64_t col, float value) const {
        const auto i = place(row, col);
        if (type == CUDA_R_16BF)
            static_cast<bf16*>(data)[i] = static_cast<bf16>(value);
        else if (type == CUDA_R_16F)
            static_cast<fp16*>(data)[i] = static_cast<fp16>(value);
        else
            static_cast<float*>(data)[i] = value;
    }
    std::size_t place(std::uint64_t row, std::uint64_t col) const {
        return static_cast<std::size_t>(row + col * static_cast<std::uint64_t>(stride));
    }
};

Matrix matrix(const void* data, const cublasLtMatrixLayoutOpaque_t& layout) {
    return {layout.type, const_cast<void*>(data), layout.stride};
}

// Rounds to TF32, which has ten bits of mantissa.
float rounded_to_tf32(float x) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &x, sizeof bits);
    bits = (bits + 0xFFFu + (bits >> 13 & 1u)) & ~0x1FFFu;
    std::memcpy(&x, &bits, sizeof bits);
    return x;
}

bool has_aux(cublasLtEpilogue_t epilogue) { return (epilogue & 128) != 0; }
bool is_relu(cublasLtEpilogue_t epilogue) { return (epilogue & (2 | 8)) != 0; }
bool has_bias(cublasLtEpilogue_t epilogue) { return (epilogue & 4) != 0; }

bool aligned(const void* address, std::uintptr_t bytes) {
    return reinterpret_cast<std::uintptr_t>(address) % bytes == 0;
}

float rounded_to(cudaDataType type, float x) {
    if (type == CUDA_R_16BF) return static_cast<float>(static_cast<bf16>(x));
    if (type == CUDA_R_16F) return static_cast<float>(static_cast<fp16>(x));
    return x;
}

bool shapes_fit(const cublasLtMatmulDescOpaque_t& op, const cublasLtMatrixLayoutOpaque_t& a,
                const cublasLtMatrixLayoutOpaque_t& b, const cublasLtMatrixLayoutOpaque_t& d) {
    const bool a_as_is = op.transpose_a == CUBLAS_OP_N, b_as_is = op.transpose_b == CUBLAS_OP_N;
    return (a_as_is ? a.rows : a.cols) == d.rows && (b_as_is ? b.cols : b.rows) == d.cols &&
           (a_as_is ? a.cols : a.rows) == (b_as_is ? b.rows : b.cols) && a.type == b.type &&
           (d.type == a.type || d.type == CUDA_R_32F) &&
           (op.compute == CUBLAS_COMPUTE_32F || a.type == CUDA_R_32F);
}

// Describes the bytes of a matrix: the size of a column, and the distance from one column to the
// next.
struct Extent {
    std::int64_t begin, end, column, stride;
};
Extent extent(const void* data, const cublasLtMatrixLayoutOpaque_t& layout) {
    const auto begin = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(data));
    const std::int64_t size = layout.type == CUDA_R_32F ? 4 : 2;
    const auto column = static_cast<std::int64_t>(layout.rows) * size;
    const std::int64_t stride = layout.stride * size;
    return {begin, begin + (static_cast<std::int64_t>(layout.cols) - 1) * stride + column, column,
            stride};
}
bool overlap(const Extent& a, const Extent& b) {
    if (a.begin >= b.end || b.begin >= a.end) return false;
    const std::int64_t apart = ((b.begin - a.begin) % a.stride + a.stride) % a.stride;
    return a.stride != b.stride || apart < a.column || apart + b.column > a.stride;
}

bool same_layout(const cublasLtMatrixLayoutOpaque_t& a, const cublasLtMatrixLayoutOpaque_t& b) {
    return a.type == b.type && a.rows == b.rows && a.cols == b.cols && a.stride == b.stride;
}

// Checks the documentation's rules for the memory that an epilogue reads and writes in addition to
// the matrices.
bool epilogue_fits(const cublasLtMatmulDescOpaque_t& op, const cublasLtMatrixLayoutOpaque_t& a,
                   const cublasLtMatrixLayoutOpaque_t& d) {
    if (has_bias(op.epilogue) && (op.bias == nullptr || a.type != d.type)) return false;
    if (op.epilogue == CUBLASLT_EPILOGUE_BGRADB && op.bias == nullptr) return false;
    return !has_aux(op.epilogue) ||
           (op.aux != nullptr && op.aux_stride >= static_cast<std::int64_t>(d.rows));
}

// cuBLASLt 13.1 finds algorithms for what its documentation excludes, and their kernels fail.
bool aux_is_aligned(const cublasLtMatmulDescOpaque_t& op) {
    return !has_aux(op.epilogue) ||
           (aligned(op.aux, 16) && op.aux_stride % (is_relu(op.epilogue) ? 128 : 8) == 0);
}

float gelu(float x) {
    return 0.5f * x * (1.0f + std::tanh(0.7978845608f * (x + 0.044715f * x * x * x)));
}
float gelu_slope(float x) {
    const float t = std::tanh(0.7978845608f * (x + 0.044715f * x * x * x));
    return 0.5f * (1.0f + t) +
           0.5f * x * (1.0f - t * t) * 0.7978845608f * (1.0f + 3.0f * 0.044715f * x * x);
}

// Accesses the bits of relu, which are stored one column of D after the other.
struct Mask {
    unsigned char* bits;
    std::int64_t stride;

    bool get(std::uint64_t row, std::uint64_t col) const {
        const auto i = row + col * static_cast<std::uint64_t>(stride);
        return (bits[i / 8] >> (i % 8) & 1) != 0;
    }
    void put(std::uint64_t row, std::uint64_t col, bool value) const {
        const auto i = row + col * static_cast<std::uint64_t>(stride);
        const auto bit = static_cast<unsigned char>(1u << (i % 8));
        bits[i / 8] = static_cast<unsigned char>(value ? bits[i / 8] | bit : bits[i / 8] & ~bit);
    }
};

float finished(const cublasLtMatmulDescOpaque_t& op, cudaDataType type, std::uint64_t row,
               std::uint64_t col, float value) {
    const Matrix before{type, op.aux, op.aux_stride};
    const Mask mask{static_cast<unsigned char*>(op.aux), op.aux_stride};
    if (has_bias(op.epilogue)) value += Matrix{type, op.bias, 1}.at(row, 0);
    switch (op.epilogue & ~4) {
        case CUBLASLT_EPILOGUE_RELU_AUX:
            mask.put(row, col, value > 0);
            [[fallthrough]];
        case CUBLASLT_EPILOGUE_RELU:
            return value < 0 ? 0.0f : value;
        case CUBLASLT_EPILOGUE_GELU_AUX:
            before.put(row, col, value);
            [[fallthrough]];
        case CUBLASLT_EPILOGUE_GELU:
            return gelu(value);
        case CUBLASLT_EPILOGUE_DRELU:
            return mask.get(row, col) ? value : 0.0f;
        case CUBLASLT_EPILOGUE_DGELU:
            return value * gelu_slope(before.at(row, col));
        default:
            return value;
    }
}

template <class Value>
cublasStatus_t take(Value& to, const void* value, std::size_t size) {
    if (size != sizeof to) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(&to, value, size);
    return CUBLAS_STATUS_SUCCESS;
}

// Holds the arguments of a matrix product, which is computed later in the order of the stream.
struct Multiplication {
    cublasLtMatmulDescOpaque_t op;
    Matrix a, b, c, d;
    std::uint64_t rows, cols, depth;
    float alpha, beta;
    std::uint32_t reduction;

    float rounded(float x) const {
        return op.compute == CUBLAS_COMPUTE_32F_FAST_TF32 ? rounded_to_tf32(x) : x;
    }
    float left(std::uint64_t row, std::uint64_t k) const {
        return rounded(op.transpose_a == CUBLAS_OP_N ? a.at(row, k) : a.at(k, row));
    }
    float right(std::uint64_t k, std::uint64_t col) const {
        return rounded(op.transpose_b == CUBLAS_OP_N ? b.at(k, col) : b.at(col, k));
    }
    float sum(std::uint64_t row, std::uint64_t col, std::uint64_t from, std::uint64_t to) const {
        float sum = 0;
        for (std::uint64_t k = from; k < to; ++k) sum += left(row, k) * right(k, col);
        return reduction == CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE ? rounded_to(d.type, sum) : sum;
    }
    void run() const {
        for (std::uint64_t col = 0; col < cols; ++col) {
            for (std::uint64_t row = 0; row < rows; ++row) {
                float value =
                    alpha * (sum(row, col, 0, depth / 2) + sum(row, col, depth / 2, depth));
                if (beta != 0) value += beta * c.at(row, col);
                d.put(row, col, finished(op, d.type, row, col, value));
            }
            if (op.epilogue != CUBLASLT_EPILOGUE_BGRADB) continue;
            float total = 0;
            for (std::uint64_t k = 0; k < depth; ++k) total += right(k, col);
            Matrix{d.type, op.bias, 1}.put(col, 0, total);
        }
    }
};

}  // namespace

std::size_t cublasLtGetVersion() { return 130000; }
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
    *handle = new EmulatedCublasLt;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}
const char* cublasLtGetStatusName(cublasStatus_t status) {
    if (status == CUBLAS_STATUS_SUCCESS) return "CUBLAS_STATUS_SUCCESS";
    if (status == CUBLAS_STATUS_EXECUTION_FAILED) return "CUBLAS_STATUS_EXECUTION_FAILED";
    return status == CUBLAS_STATUS_NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED"
                                                 : "CUBLAS_STATUS_INVALID_VALUE";
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t operation, std::size_t size,
                                               cublasComputeType_t compute, cudaDataType scale) {
    if (size != sizeof *operation || scale != CUDA_R_32F) return CUBLAS_STATUS_INVALID_VALUE;
    *operation = {};
    operation->compute = compute;
    operation->epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation,
                                              cublasLtMatmulDescAttributes_t which,
                                              const void* value, std::size_t size) {
    switch (which) {
        case CUBLASLT_MATMUL_DESC_TRANSA:
            return take(operation->transpose_a, value, size);
        case CUBLASLT_MATMUL_DESC_TRANSB:
            return take(operation->transpose_b, value, size);
        case CUBLASLT_MATMUL_DESC_EPILOGUE:
            return take(operation->epilogue, value, size);
        case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
            return take(operation->bias, value, size);
        case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
            return take(operation->aux, value, size);
        case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
            return take(operation->aux_stride, value, size);
        case CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET:
            return take(operation->multiprocessors, value, size);
    }
    return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, std::size_t size,
                                                 cudaDataType type, std::uint64_t rows,
                                                 std::uint64_t cols, std::int64_t stride) {
    if (size != sizeof *layout) return CUBLAS_STATUS_INVALID_VALUE;
    *layout = {type, rows, cols, stride};
    return stride >= static_cast<std::int64_t>(rows) ? CUBLAS_STATUS_SUCCESS
                                                     : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t preference,
                                                     std::size_t size) {
    if (size != sizeof *preference) return CUBLAS_STATUS_INVALID_VALUE;
    *preference = {0, {256, 256, 256, 256}, CUBLASLT_REDUCTION_SCHEME_MASK};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t which,
                                                    const void* value, std::size_t size) {
    if (which == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
        return take(preference->workspace_bytes, value, size);
    if (which == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK)
        return take(preference->reductions, value, size);
    return take(preference->alignment[which - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], value,
                size);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int most,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* count) {
    emulated_call(__func__);
    ++searches;
    *count = 0;
    if (!shapes_fit(*operation, *a, *b, *d)) return CUBLAS_STATUS_INVALID_VALUE;
    if (!epilogue_fits(*operation, *a, *d) || preference->workspace_bytes < workspace_needed)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    const std::uint32_t alignment =
        *std::min_element(preference->alignment, preference->alignment + 4);
    const std::uint32_t reduction = preference->reductions & CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
    for (int number = 0; number < std::min(most, algorithms); ++number)
        results[(*count)++] = {
            {number, alignment, workspace_needed, reduction},
            workspace_needed,
            number == broken_algorithm ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation, const void* alpha,
                              const void* a_data, cublasLtMatrixLayout_t a, const void* b_data,
                              cublasLtMatrixLayout_t b, const void* beta, const void* c_data,
                              cublasLtMatrixLayout_t c, void* d_data, cublasLtMatrixLayout_t d,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              std::size_t workspace_bytes, cudaStream_t stream) {
    emulated_call(__func__);
    const auto& op = *operation;
    if (!shapes_fit(op, *a, *b, *d) || !epilogue_fits(op, *a, *d) ||
        algorithm->number == broken_algorithm || workspace_bytes < algorithm->workspace_bytes)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!aux_is_aligned(op)) return CUBLAS_STATUS_EXECUTION_FAILED;
    for (const void* address : {a_data, b_data, c_data, static_cast<const void*>(d_data)})
        if (!aligned(address, algorithm->alignment)) return CUBLAS_STATUS_INVALID_VALUE;
    const Extent result = extent(d_data, *d);
    const bool gelu_aux = has_aux(op.epilogue) && !is_relu(op.epilogue);
    if (!aligned(workspace, 256) || overlap(result, extent(a_data, *a)) ||
        overlap(result, extent(b_data, *b)) ||
        (gelu_aux && overlap(result, extent(op.aux, {d->type, d->rows, d->cols, op.aux_stride}))))
        return CUBLAS_STATUS_INVALID_VALUE;
    const bool in_place = c_data == d_data;
    if (in_place ? !same_layout(*c, *d) : overlap(result, extent(c_data, *c)))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!in_place && algorithm->number == in_place_algorithm) return CUBLAS_STATUS_NOT_SUPPORTED;
    const Multiplication work{op,
                              matrix(a_data, *a),
                              matrix(b_data, *b),
                              matrix(c_data, *c),
                              matrix(d_data, *d),
                              d->rows,
                              d->cols,
                              op.transpose_a == CUBLAS_OP_N ? a->cols : a->rows,
                              *static_cast<const float*>(alpha),
                              *static_cast<const float*>(beta),
                              algorithm->reduction};
    last_algorithm = algorithm->number;
    const char* name = op.multiprocessors == 0 ? "product" : "product on a part of the device";
    const auto submitted =
        emulated_submit(stream, {.name = name}, [work, workspace, chosen = *algorithm] {
            std::memset(workspace, 0xFF, chosen.workspace_bytes);
            work.run();
            emulated_device_work(milliseconds_of[chosen.number]);
        });
    return submitted == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

int emulated_searches() { return searches; }
int emulated_algorithm() { return last_algorithm; }
