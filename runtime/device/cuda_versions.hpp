// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

// CUDA's own rules of what works with what, as plain values. Versions are as CUDA has them: 12020
// is 12.2, 0 is none. Compute capabilities: 90 is 9.0.
namespace lockstep::device {

// The toolkit and the GPUs that this program was built by and for.
struct CudaBuild {
    int version = 0;      // of the toolkit; 0: built without CUDA
    std::string targets;  // as CMAKE_CUDA_ARCHITECTURES names them: "80 90a-real"
};

std::string cuda_version_text(int version);             // "12.2"
std::string library_version_text(std::size_t version);  // of cuBLASLt, cuDNN: "12.8.4" of 120804
std::string compute_capability_text(int capability);    // "9.0"
std::string cuda_targets_text(const CudaBuild& build);  // "8.0 and newer, 9.0"

// Why the driver, which is there, does not serve the build, and what to do; empty: it does. A
// driver serves every CUDA of its own major version and of those before.
std::string why_driver_is_too_old(const CudaBuild& build, int driver);

// Why a GPU of that name cannot run the build's kernels, and what to do; empty: it can.
std::string why_not_compiled_for(const CudaBuild& build, const std::string& gpu, int capability);

// cuBLASLt's files that work with the driver (0: with any), best first. What is used of it has the
// same numbers and layouts in 12 and 13; its kernels need a driver of their own major version.
std::vector<std::string> cublas_lt_files(int driver);

}  // namespace lockstep::device
