// SPDX-License-Identifier: Apache-2.0
#include "launcher/doctor/gpu_software.hpp"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>

#include <cstddef>
#include <sstream>

#include "launcher/doctor/finding_text.hpp"
#include "launcher/host/gpus.hpp"
#include "launcher/text/text_table.hpp"
#include "runtime/device/cuda_library.hpp"
#include "runtime/device/cuda_versions.hpp"

namespace lockstep::launcher::doctor {

namespace {

// Converts "12.4" to 12040.
int cuda_version(const std::string& text) {
    int major = 0, minor = 0;
    char point = 0;
    std::istringstream words(text);
    return words >> major >> point >> minor ? 1000 * major + 10 * minor : 0;
}

// `version` returns the version of the opened library.
template <class Version>
CudaPart part(const std::vector<std::string>& files, Version version) {
    const device::OpenedLibrary library = device::open_cuda_library(files);
    if (library.handle == nullptr) return {"", "", library.problem};
    link_map* map = nullptr;
    ::dlinfo(library.handle, RTLD_DI_LINKMAP, &map);
    return {device::library_version_text(version(library.handle)),
            map == nullptr ? "" : map->l_name, ""};
}

template <class Function>
Function* function(void* library, const char* name) {
    return reinterpret_cast<Function*>(::dlsym(library, name));
}

std::size_t returned(void* library, const char* name) {
    auto* const ask = function<std::size_t()>(library, name);
    return ask == nullptr ? 0 : ask();
}

std::size_t nccl_version(void* library) {
    auto* const ask = function<int(int*)>(library, "ncclGetVersion");
    int version = 0;
    return ask == nullptr || ask(&version) != 0 ? 0 : static_cast<std::size_t>(version);
}

std::string found(const CudaPart& part) {
    return part.problem.empty() ? part.version + ", " + part.file : "none: " + part.problem;
}

// Splits a text of the form "what is wrong: what to do".
void tell(SoftwareRow& row, const std::string& text) {
    const std::size_t colon = text.find(": ");
    row.problem = text.substr(0, colon);
    if (colon != std::string::npos) row.advice = text.substr(colon + 2);
}

SoftwareRow driver_row(const RankFacts& rank) {
    const GpuHost& host = rank.gpu_host;
    const int driver = rank.software.driver;
    SoftwareRow row{"driver", host.driver.empty() ? "none" : host.driver, Severity::breaks};
    if (host.driver.empty()) {
        row.problem = "has no GPU: " + host.absent;
        row.advice = "choose hosts with GPUs, or install the driver where there is one";
    }
    if (driver == 0 || host.driver.empty()) return row;
    row.found += ", serves CUDA " + device::cuda_version_text(driver) + " and older";
    if (rank.software.build > 0)
        tell(row, device::why_driver_is_too_old({rank.software.build, ""}, driver));
    return row;
}

SoftwareRow build_row(const GpuSoftware& software) {
    if (software.build == 0)
        return {"this program", "built without CUDA", Severity::breaks, "was built without CUDA",
                "build it where nvcc is found"};
    return {"this program", "CUDA " + device::cuda_version_text(software.build) +
                                ", for compute capability " +
                                device::cuda_targets_text({software.build, software.targets})};
}

// GPUs of the same kind share a row.
void add_gpus(const RankFacts& rank, std::vector<SoftwareRow>& rows) {
    const GpuSoftware& software = rank.software;
    for (const Gpu& gpu : rank.gpu_host.gpus) {
        SoftwareRow row{"GPU " + std::to_string(gpu.index),
                        gpu.name + ", " + std::to_string(gpu.bytes >> 20) + " MiB",
                        Severity::breaks};
        if (gpu.compute_capability > 0) {
            row.found +=
                ", compute capability " + device::compute_capability_text(gpu.compute_capability);
            if (software.build > 0)
                tell(row, device::why_not_compiled_for({software.build, software.targets}, gpu.name,
                                                       gpu.compute_capability));
        }
        const bool alike = !rows.empty() && rows.back().found == row.found;
        if (!alike) {
            rows.push_back(row);
            continue;
        }
        std::string& name = rows.back().part;
        name = name.substr(0, name.find('-')) + "-" + std::to_string(gpu.index);
    }
}

SoftwareRow library_row(const std::string& name, const CudaPart& part, Severity severity,
                        const std::string& what, const std::string& package) {
    SoftwareRow row{name, found(part), severity};
    if (part.problem.empty()) return row;
    row.problem = what;
    row.advice = "install it (" + package + ") and name its folder in LD_LIBRARY_PATH";
    return row;
}

}  // namespace

GpuSoftware gpu_software(const GpuHost& host) {
    const device::CudaBuild build = cuda_build();
    GpuSoftware found;
    found.build = build.version;
    found.targets = build.targets;
    found.driver = cuda_version(host.cuda);
    found.cublas_lt = part(device::cublas_lt_files(found.driver),
                           [](void* l) { return returned(l, "cublasLtGetVersion"); });
    found.cudnn = part({"libcudnn.so.9"}, [](void* l) { return returned(l, "cudnnGetVersion"); });
    found.nccl = part({"libnccl.so.2"}, nccl_version);
    found.glibc = ::gnu_get_libc_version();
    return found;
}

std::vector<SoftwareRow> software_rows(const RankFacts& rank) {
    const GpuSoftware& software = rank.software;
    std::vector<SoftwareRow> rows{driver_row(rank), build_row(software)};
    add_gpus(rank, rows);
    const std::string major = std::to_string(software.driver >= 13000 ? 13 : 12);
    rows.push_back(library_row("cuBLASLt", software.cublas_lt, Severity::breaks,
                               "has no cuBLASLt, which computes products on GPUs",
                               "CUDA's toolkit, or pip install nvidia-cublas" +
                                   std::string(major == "12" ? "-cu12" : "")));
    rows.push_back(library_row("cuDNN", software.cudnn, Severity::warns,
                               "has no cuDNN: attention by own kernels, which are slower on GPUs "
                               "of compute capability 9.0 and newer",
                               "pip install nvidia-cudnn-cu" + major));
    rows.push_back(
        library_row("NCCL", software.nccl, Severity::notes,
                    "has no NCCL: gradients of several ranks go through the hosts' memory",
                    "pip install nvidia-nccl-cu" + major));
    rows.push_back({"glibc", software.glibc});
    return rows;
}

std::string software_table(const std::vector<SoftwareRow>& rows) {
    TextTable table;
    table.add({"part", "found", "what is wrong, and what to do"});
    for (const SoftwareRow& row : rows)
        table.add({row.part, row.found,
                   row.problem + (row.advice.empty() || row.problem.empty() ? "" : ": ") +
                       (row.problem.empty() ? "" : row.advice)});
    return table.markdown();
}

std::vector<Finding> judge_software(const Facts& facts) {
    if (facts.computes != Computes::on_gpu) return {};
    std::vector<Finding> found;
    for (const Severity severity : {Severity::breaks, Severity::warns}) {
        Grouped grouped(facts, severity, "software");
        for (const RankFacts& one : facts.ranks)
            for (const SoftwareRow& row : software_rows(one))
                if (row.severity == severity && !row.problem.empty())
                    grouped.add(one.rank, row.problem, row.advice);
        append(found, grouped.findings());
    }
    return found;
}

}  // namespace lockstep::launcher::doctor
