// SPDX-License-Identifier: Apache-2.0
// This libcuda.so.1 has no GPU but accepts every kernel. It lets cuDNN make complete plans for the
// properties of a device that does not exist.
#include <cuda.h>

namespace {

// Handles point to this object. Only a driver would read it.
int taken;

template <class Handle>
CUresult hand_out(Handle* handle) {
    *handle = reinterpret_cast<Handle>(&taken);
    return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned) { return CUDA_ERROR_NO_DEVICE; }
CUresult cuDeviceGetCount(int* count) {
    *count = 0;
    return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
    *context = nullptr;
    return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** text) {
    *text = "there is no GPU";
    return CUDA_SUCCESS;
}
CUresult cuLibraryLoadData(CUlibrary* library, const void*, CUjit_option*, void**, unsigned,
                           CUlibraryOption*, void**, unsigned) {
    return hand_out(library);
}
CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary, const char*) { return hand_out(kernel); }
CUresult cuKernelGetFunction(CUfunction* function, CUkernel) { return hand_out(function); }
CUresult cuLibraryUnload(CUlibrary) { return CUDA_SUCCESS; }

// cuDNN (9.19 to 9.28) requires these functions to exist, and calls them only with a GPU.
CUresult refuse() { return CUDA_ERROR_NO_DEVICE; }
asm(".irp name, "
    "cuCtxGetDevice cuCtxGetLimit cuCtxPopCurrent cuCtxPushCurrent cuDeviceGet "
    "cuDeviceGetAttribute cuDevicePrimaryCtxRelease cuDevicePrimaryCtxReset "
    "cuDevicePrimaryCtxRetain cuDriverGetVersion cuFuncGetAttribute "
    "cuFuncSetAttribute cuGetErrorName cuKernelGetAttribute cuKernelSetAttribute "
    "cuLaunchCooperativeKernel cuLaunchKernel cuLaunchKernelEx cuLibraryLoadFromFile "
    "cuLinkAddData cuLinkAddData_v2 cuLinkAddFile_v2 cuLinkComplete cuLinkCreate "
    "cuLinkCreate_v2 cuLinkDestroy cuMemcpyDtoH_v2 cuModuleGetFunction "
    "cuModuleGetGlobal_v2 cuModuleLoadData cuModuleLoadDataEx cuModuleLoadFatBinary "
    "cuModuleUnload cuOccupancyMaxActiveBlocksPerMultiprocessor "
    "cuOccupancyMaxPotentialClusterSize cuStreamGetCtx cuStreamSynchronize "
    "cuTensorMapEncodeIm2col cuTensorMapEncodeTiled "
    "\n.globl \\name\n.type \\name, %function\n.set \\name, refuse\n.endr\n");

}  // extern "C"
