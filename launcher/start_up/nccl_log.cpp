// SPDX-License-Identifier: Apache-2.0
#include "launcher/start_up/nccl_log.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "launcher/host/shared_library.hpp"

namespace lockstep::launcher {

namespace {

// Escapes a path for NCCL_DEBUG_FILE, in which % begins the name of a host or process.
std::string escaped(const std::string& path) {
    std::string text;
    for (const char c : path) text += c == '%' ? "%%" : std::string(1, c);
    return text;
}

}  // namespace

std::unique_ptr<NcclLog> NcclLog::begin() {
    if (::getenv("NCCL_DEBUG") != nullptr) return nullptr;
    std::error_code none;
    std::string path = std::filesystem::temp_directory_path(none) / "lockstep-nccl-XXXXXX";
    const int file = none ? -1 : ::mkstemp(path.data());
    if (file < 0) return nullptr;
    ::close(file);
    ::setenv("NCCL_DEBUG", "INFO", 1);
    ::setenv("NCCL_DEBUG_SUBSYS", "INIT,GRAPH", 1);
    ::setenv("NCCL_DEBUG_FILE", escaped(path).c_str(), 1);
    return std::unique_ptr<NcclLog>(new NcclLog(std::move(path)));
}

NcclLog::~NcclLog() {
    std::error_code none;
    std::filesystem::remove(path_, none);
}

NcclPaths NcclLog::take() {
    std::ifstream log(path_);
    const NcclPaths paths = read_nccl_log(log);
    std::error_code none;
    std::filesystem::remove(path_, none);
    return paths;
}

void NcclReport::on_step(const train::StepReport&) {
    if (std::exchange(told_, true)) return;
    NcclPaths paths = own_ == nullptr ? NcclPaths{} : own_->take();
    communicator_.all_reduce(HostView<std::uint64_t>(paths.data(), paths.size()),
                             comm::ReduceOp::sum, "NCCL's paths");
    communicator_.finish();
    const std::string told = describe(paths, hosts_);
    if (communicator_.rank() == 0 && !told.empty())
        log_.detail("NCCL " + nccl_version() + ": " + told);
}

}  // namespace lockstep::launcher
