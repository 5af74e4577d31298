// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/matmul/product_plan.hpp"

namespace lockstep::kernels::cuda {

namespace {

cudaDataType_t type_of(Dtype element) {
    switch (element) {
        case Dtype::fp32:
            return CUDA_R_32F;
        case Dtype::bf16:
            return CUDA_R_16BF;
        case Dtype::fp16:
            return CUDA_R_16F;
        case Dtype::fp64:
        case Dtype::u64:
        case Dtype::byte:
            break;
    }
    throw Error(ErrorKind::contract, "a product of an unknown type");
}

// cuBLASLt has names for combinations, not for their parts.
cublasLtEpilogue_t epilogue_of(const ProductShape& shape) {
    const bool bias = shape.beside == Beside::bias;
    switch (shape.epilogue) {
        case Epilogue::none:
            if (shape.beside == Beside::row_sums) return CUBLASLT_EPILOGUE_BGRADB;
            return bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
        case Epilogue::relu:
            if (shape.has_aux)
                return bias ? CUBLASLT_EPILOGUE_RELU_AUX_BIAS : CUBLASLT_EPILOGUE_RELU_AUX;
            return bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
        case Epilogue::gelu_tanh:
            if (shape.has_aux)
                return bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
            return bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
        case Epilogue::relu_backward:
            return CUBLASLT_EPILOGUE_DRELU;
        case Epilogue::gelu_tanh_backward:
            return CUBLASLT_EPILOGUE_DGELU;
    }
    throw Error(ErrorKind::contract, "a product with an unknown epilogue");
}

template <class Value>
void set(const CublasLt& library, ProductPlan& plan, cublasLtMatmulDescAttributes_t which,
         const Value& value) {
    library.check(library.set_operation(&plan.operation, which, &value, sizeof value),
                  "cublasLtMatmulDescSetAttribute");
}

template <class Value>
void set(const CublasLt& library, cublasLtMatmulPreferenceOpaque_t& preference,
         cublasLtMatmulPreferenceAttributes_t which, const Value& value) {
    library.check(library.set_preference(&preference, which, &value, sizeof value),
                  "cublasLtMatmulPreferenceSetAttribute");
}

cublasOperation_t operation_of(Transpose transpose) {
    return transpose == Transpose::yes ? CUBLAS_OP_T : CUBLAS_OP_N;
}

// Describes a row-major matrix of `rows` rows, `stride` elements apart.
void lay_out(const CublasLt& library, cublasLtMatrixLayoutOpaque_t& layout, Dtype element,
             std::int64_t rows, std::int64_t cols, std::int64_t stride) {
    library.check(library.init_layout(&layout, sizeof layout, type_of(element),
                                      static_cast<std::uint64_t>(cols),
                                      static_cast<std::uint64_t>(rows), stride),
                  "cublasLtMatrixLayoutInit");
}

void set_addresses(const CublasLt& library, ProductPlan& plan, const ProductOperands& at) {
    if (at.beside != nullptr) set(library, plan, CUBLASLT_MATMUL_DESC_BIAS_POINTER, at.beside);
    if (at.aux != nullptr) set(library, plan, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, at.aux);
}

cublasLtMatmulPreferenceOpaque_t preference_for(const CublasLt& library,
                                                const ProductShape& shape) {
    cublasLtMatmulPreferenceOpaque_t preference{};
    library.check(library.init_preference(&preference, sizeof preference),
                  "cublasLtMatmulPreferenceInit");
    set(library, preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
        std::uint64_t{product_workspace_bytes});
    // Otherwise parts of a sum might be rounded to 16 bits before they are added.
    if (shape.out != Dtype::fp32)
        set(library, preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
            std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    set(library, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
        std::uint32_t{shape.b_alignment});
    set(library, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        std::uint32_t{shape.a_alignment});
    set(library, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
        std::uint32_t{shape.c_alignment});
    set(library, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
        std::uint32_t{shape.c_alignment});
    return preference;
}

// cuBLASLt's documentation wants the matrix that an epilogue reads or writes beside C to begin at a
// multiple of 16 bytes, with rows of whole 8 values, and a mask with rows of whole 128 bits.
// cuBLASLt 13.1 finds algorithms for other rows, too, and their kernels end the context at a
// misaligned address.
bool aux_is_aligned(const ProductShape& shape) {
    const bool is_mask =
        shape.epilogue == Epilogue::relu || shape.epilogue == Epilogue::relu_backward;
    return !shape.has_aux ||
           (shape.aux_stride % (is_mask ? 128 : 8) == 0 && shape.aux_alignment >= 16);
}

}  // namespace

ProductPlan describe(const CublasLt& library, const ProductShape& shape) {
    ProductPlan plan{};
    plan.found = CUBLAS_STATUS_NOT_SUPPORTED;
    library.check(library.init_operation(
                      &plan.operation, sizeof plan.operation,
                      shape.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
                  "cublasLtMatmulDescInit");
    set(library, plan, CUBLASLT_MATMUL_DESC_TRANSA, operation_of(shape.transpose_b));
    set(library, plan, CUBLASLT_MATMUL_DESC_TRANSB, operation_of(shape.transpose_a));
    set(library, plan, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(shape));
    if (shape.multiprocessors > 0)
        set(library, plan, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, shape.multiprocessors);
    if (shape.has_aux) set(library, plan, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, shape.aux_stride);
    const bool a_as_is = shape.transpose_a == Transpose::no;
    const bool b_as_is = shape.transpose_b == Transpose::no;
    lay_out(library, plan.first, shape.in, b_as_is ? shape.k : shape.n, b_as_is ? shape.n : shape.k,
            shape.b_stride);
    lay_out(library, plan.second, shape.in, a_as_is ? shape.m : shape.k,
            a_as_is ? shape.k : shape.m, shape.a_stride);
    lay_out(library, plan.result, shape.out, shape.m, shape.n, shape.c_stride);
    return plan;
}

std::vector<cublasLtMatmulAlgo_t> candidates(const CublasLt& library, const ProductShape& shape,
                                             const ProductOperands& at, ProductPlan& plan,
                                             int max_algorithms) {
    if (!aux_is_aligned(shape)) {
        plan.found = CUBLAS_STATUS_NOT_SUPPORTED;
        return {};
    }
    set_addresses(library, plan, at);
    cublasLtMatmulPreferenceOpaque_t preference = preference_for(library, shape);
    std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(max_algorithms));
    int count = 0;
    plan.found = library.get_heuristic(library.handle(), &plan.operation, &plan.first, &plan.second,
                                       &plan.result, &plan.result, &preference, max_algorithms,
                                       results.data(), &count);
    std::vector<cublasLtMatmulAlgo_t> algorithms;
    if (plan.found != CUBLAS_STATUS_SUCCESS) return algorithms;
    for (const auto& result : results)
        if (count-- > 0 && result.state == CUBLAS_STATUS_SUCCESS &&
            result.workspaceSize <= product_workspace_bytes)
            algorithms.push_back(result.algo);
    if (algorithms.empty()) plan.found = CUBLAS_STATUS_NOT_SUPPORTED;
    return algorithms;
}

cublasStatus_t try_run(device::CudaContext& ctx, const CublasLt& library, ProductPlan& plan,
                       const ProductOperands& at, void* to) {
    set_addresses(library, plan, at);
    // Takes the whole workspace at every call, so that its address does not change after the first
    // product.
    std::byte* workspace = ctx.scratch<std::byte>(product_workspace_bytes).data();
    return library.matmul(library.handle(), &plan.operation, &at.alpha, at.b, &plan.first, at.a,
                          &plan.second, &at.beta, at.c, &plan.result, to, &plan.result,
                          &plan.algorithm, workspace, product_workspace_bytes, ctx.stream());
}

void run(device::CudaContext& ctx, const CublasLt& library, ProductPlan& plan,
         const ProductOperands& at, void* to) {
    library.check(try_run(ctx, library, plan, at, to), "cublasLtMatmul");
}

}  // namespace lockstep::kernels::cuda
