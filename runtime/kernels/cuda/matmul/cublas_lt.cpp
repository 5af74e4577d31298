// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/cuda/matmul/cublas_lt.hpp"

namespace lockstep::kernels::cuda {

CublasLt::CublasLt() {
    check(find<decltype(cublasLtCreate)>("cublasLtCreate")(&handle_), "cublasLtCreate");
}

CublasLt::~CublasLt() { find<decltype(cublasLtDestroy)>("cublasLtDestroy")(handle_); }

void CublasLt::check(cublasStatus_t result, const char* call, SourceLocation where) const {
    if (result == CUBLAS_STATUS_SUCCESS) return;
    throw Error(ErrorKind::cuda,
                std::string(where.file) + ":" + std::to_string(where.line) + ": " + call +
                    " failed: " + name_of(result),
                where);
}

}  // namespace lockstep::kernels::cuda
