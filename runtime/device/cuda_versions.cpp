// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda_versions.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace lockstep::device {

namespace {

constexpr int oldest_cuda = 12;  // oldest version this program can be built with

// Names the first driver of a major version of CUDA.
std::string first_driver(int major) {
    switch (major) {
        case 12:
            return "driver 525 or newer";
        case 13:
            return "driver 580 or newer";
        default:
            return "a driver for CUDA " + std::to_string(major);
    }
}

// Represents an entry of CMAKE_CUDA_ARCHITECTURES, such as "80", "80-virtual" or "90a-real".
struct Target {
    int capability = 0;     // 0: a word of CMake, such as "native"
    bool specific = false;  // "90a": only for 9.0
    bool machine_code = true, ptx = true;

    explicit Target(const std::string& text) {
        if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) == 0) return;
        std::size_t digits = 0;
        capability = std::stoi(text, &digits);
        specific = digits < text.size() && text[digits] == 'a';
        machine_code = !text.ends_with("-virtual");
        ptx = !text.ends_with("-real");
    }
    // Machine code runs on GPUs of its major version with the same or a newer minor version. PTX
    // runs on all newer GPUs.
    bool serves(int gpu) const {
        if (capability == 0) return true;
        if (specific) return gpu == capability;
        return gpu >= capability && (ptx || (machine_code && gpu / 10 == capability / 10));
    }
};

std::vector<Target> targets_of(const CudaBuild& build) {
    std::vector<Target> targets;
    std::istringstream words(build.targets);
    for (std::string word; words >> word;) targets.emplace_back(word);
    return targets;
}

}  // namespace

std::string cuda_version_text(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version / 10 % 100);
}

std::string library_version_text(std::size_t version) {
    return std::to_string(version / 10'000) + "." + std::to_string(version / 100 % 100) + "." +
           std::to_string(version % 100);
}

std::string compute_capability_text(int capability) {
    return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

std::string cuda_targets_text(const CudaBuild& build) {
    std::string text;
    for (const Target& target : targets_of(build)) {
        if (target.capability == 0) return build.targets;
        text += (text.empty() ? "" : ", ") + compute_capability_text(target.capability) +
                (target.ptx && !target.specific ? " and newer" : "");
    }
    return text;
}

std::string why_driver_is_too_old(const CudaBuild& build, int driver) {
    const int needed = build.version / 1000;
    if (driver / 1000 >= needed) return "";
    return "the NVIDIA driver serves CUDA " + cuda_version_text(driver) +
           " at most, and this program is built with CUDA " + cuda_version_text(build.version) +
           ": install " + first_driver(needed) +
           (driver / 1000 >= oldest_cuda
                ? ", or take a build with CUDA " + std::to_string(driver / 1000)
                : "");
}

std::string why_not_compiled_for(const CudaBuild& build, const std::string& gpu, int capability) {
    const auto targets = targets_of(build);
    const bool served = std::any_of(targets.begin(), targets.end(), [&](const Target& target) {
        return target.serves(capability);
    });
    if (served) return "";
    return gpu + " has compute capability " + compute_capability_text(capability) +
           ", and this program's kernels are for " + cuda_targets_text(build) +
           (capability < 80
                ? ": GPUs before Ampere are not supported"
                : ": build it with -DCMAKE_CUDA_ARCHITECTURES=" + std::to_string(capability));
}

std::vector<std::string> cublas_lt_files(int driver) {
    std::vector<std::string> files;
    for (const int major : {13, 12})
        if (driver == 0 || driver / 1000 >= major)
            files.push_back("libcublasLt.so." + std::to_string(major));
    return files;
}

}  // namespace lockstep::device
