// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

// Checks CUDA's compatibility rules on plain values. Versions are numbers as in CUDA: 12020 is
// 12.2, 0 is none. Compute capabilities are numbers too: 90 is 9.0.
namespace lockstep::device {

// Names the CUDA toolkit that built this program, and the GPUs it was built for.
struct CudaBuild {
    int version = 0;      // version of the toolkit; 0: built without CUDA
    std::string targets;  // value of CMAKE_CUDA_ARCHITECTURES: "80 90a-real"
};

std::string cuda_version_text(int version);             // "12.2"
std::string library_version_text(std::size_t version);  // for cuBLASLt and cuDNN: 120804 gives
                                                        // "12.8.4"
std::string compute_capability_text(int capability);    // "9.0"
std::string cuda_targets_text(const CudaBuild& build);  // "8.0 and newer, 9.0"

// Explains why the installed driver cannot run the build, and what to do. Empty if it can: a driver
// supports every CUDA of its own major version and of earlier ones.
std::string why_driver_is_too_old(const CudaBuild& build, int driver);

// Explains why a GPU of that name cannot run the build's kernels, and what to do. Empty if it can.
std::string why_not_compiled_for(const CudaBuild& build, const std::string& gpu, int capability);

// Returns the file names of cuBLASLt that work with the driver (0: with any), best first. The
// functions Lockstep uses have the same numbers and layouts in 12 and 13, but the library's kernels
// need a driver of the library's major version.
std::vector<std::string> cublas_lt_files(int driver);

}  // namespace lockstep::device
