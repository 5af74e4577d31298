// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/metrics/metrics_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "runtime/core/system_failure.hpp"
#include "runtime/files/followed_path.hpp"

namespace lockstep::train {
namespace {

namespace fs = std::filesystem;

// A run that cannot write for days must not fill the memory with its metrics.
constexpr std::size_t max_waiting_bytes = std::size_t{16} << 20;

std::uintmax_t size_of(const std::string& path) {
    std::error_code failure;
    const std::uintmax_t bytes = fs::file_size(path, failure);
    if (!failure) return bytes;
    errno = failure.value();
    throw_errno("cannot be looked at", path);
}

}  // namespace

MetricsFile::MetricsFile(std::string path, Log& log,
                         std::function<void(const std::string&)> prepare)
    : path_(std::move(path)), log_(log), prepare_(std::move(prepare)) {
    append("");
}

void MetricsFile::append(std::string_view text) {
    if (waiting_.size() + text.size() <= max_waiting_bytes) waiting_ += text;
    try {
        write_waiting();
    } catch (const SystemFailure& failure) {
        file_.reset();
        if (std::exchange(told_, true)) return;
        const char* code = ::strerrorname_np(failure.code());
        log_.error("warning: " + std::string(failure.what()) + " (" +
                   (code == nullptr ? "no errno" : code) +
                   "); training goes on, and the next line tries again");
    }
}

void MetricsFile::write_waiting() {
    if (!file_) open();
    if (waiting_.empty()) return;
    whole_bytes_ = size_of(path_);
    file_->write(waiting_);
    whole_bytes_.reset();
    waiting_.clear();
}

void MetricsFile::open() {
    path_ = followed_path(path_);
    if (whole_bytes_) cut_back();
    if (prepare_) prepare_(path_);
    file_.emplace(path_, OutputFile::Mode::append);
    prepare_ = {};
}

void MetricsFile::cut_back() {
    std::error_code failure;
    if (fs::exists(path_, failure) && size_of(path_) > *whole_bytes_)
        fs::resize_file(path_, *whole_bytes_, failure);
    if (failure) {
        errno = failure.value();
        throw_errno("cannot be cut back", path_);
    }
    whole_bytes_.reset();
}

}  // namespace lockstep::train
