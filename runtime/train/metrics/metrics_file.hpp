// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/core/log.hpp"
#include "runtime/train/folder/atomic_file.hpp"

namespace lockstep::train {

// Appends to a file that a run can do without. Text that cannot be written (disk full, no
// permission) waits in memory and is tried again with the next text. The first failure is one
// warning in `log`; none is thrown.
class MetricsFile {
public:
    // `prepare` is called with the path before the file is opened, until both succeed once.
    // `log` must outlive this object. The constructor opens the file.
    MetricsFile(std::string path, Log& log, std::function<void(const std::string&)> prepare = {});

    const std::string& path() const noexcept { return path_; }
    // Only whole texts appear in the file, unless the system refuses to cut off a part.
    void append(std::string_view text);

private:
    void open();
    void cut_back();
    void write_waiting();

    std::string path_;
    Log& log_;
    std::function<void(const std::string&)> prepare_;
    std::optional<OutputFile> file_;
    std::optional<std::uintmax_t> whole_bytes_;  // set while the file may end with a part of a text
    std::string waiting_;
    bool told_ = false;
};

}  // namespace lockstep::train
