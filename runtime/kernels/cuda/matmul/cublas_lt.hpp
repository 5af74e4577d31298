// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cublasLt.h>

#include <string>

#include "runtime/core/error.hpp"
#include "runtime/device/cuda/cuda_devices.hpp"
#include "runtime/device/cuda_library.hpp"
#include "runtime/device/cuda_versions.hpp"

namespace lockstep::kernels::cuda {

// The functions of cuBLASLt that products use, and its handle for the current GPU. The library is
// opened at the first product. Headers of CUDA 12 and 13 work with libraries of either version: the
// caller passes the size of each description, and the numbers of enumerators have not changed.
class CublasLt {
public:
    CublasLt();
    ~CublasLt();
    CublasLt(const CublasLt&) = delete;
    CublasLt& operator=(const CublasLt&) = delete;

    cublasLtHandle_t handle() const noexcept { return handle_; }
    // Throws an error of kind cuda that names the call if it failed.
    void check(cublasStatus_t result, const char* call,
               SourceLocation where = SourceLocation::current()) const;
    std::string name_of(cublasStatus_t result) const { return get_status_name(result); }

private:
    device::CudaLibrary library_{device::cublas_lt_files(device::driver_cuda_version())};
    cublasLtHandle_t handle_ = nullptr;

    template <class Function>
    Function* find(const char* name) const {
        return library_.function<Function>(name);
    }

public:
    decltype(cublasLtMatmul)* const matmul = find<decltype(cublasLtMatmul)>("cublasLtMatmul");
    decltype(cublasLtMatmulAlgoGetHeuristic)* const get_heuristic =
        find<decltype(cublasLtMatmulAlgoGetHeuristic)>("cublasLtMatmulAlgoGetHeuristic");
    decltype(cublasLtMatmulDescInit_internal)* const init_operation =
        find<decltype(cublasLtMatmulDescInit_internal)>("cublasLtMatmulDescInit_internal");
    decltype(cublasLtMatmulDescSetAttribute)* const set_operation =
        find<decltype(cublasLtMatmulDescSetAttribute)>("cublasLtMatmulDescSetAttribute");
    decltype(cublasLtMatrixLayoutInit_internal)* const init_layout =
        find<decltype(cublasLtMatrixLayoutInit_internal)>("cublasLtMatrixLayoutInit_internal");
    decltype(cublasLtMatmulPreferenceInit_internal)* const init_preference =
        find<decltype(cublasLtMatmulPreferenceInit_internal)>(
            "cublasLtMatmulPreferenceInit_internal");
    decltype(cublasLtMatmulPreferenceSetAttribute)* const set_preference =
        find<decltype(cublasLtMatmulPreferenceSetAttribute)>(
            "cublasLtMatmulPreferenceSetAttribute");
    decltype(cublasLtGetStatusName)* const get_status_name =
        find<decltype(cublasLtGetStatusName)>("cublasLtGetStatusName");
};

}  // namespace lockstep::kernels::cuda
