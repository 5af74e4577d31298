// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "launcher/report/charts/abscissa.hpp"
#include "runtime/core/file_descriptor.hpp"

namespace lockstep::launcher::live {

// Keeps a page about runs up to date while somebody looks at it. A thread of its own reads the
// folders, because a file system may be slow or hang. Reading takes at most a tenth of a core.
class LivePage {
public:
    LivePage(std::vector<std::string> folders, report::Abscissa abscissa);
    LivePage(const LivePage&) = delete;
    LivePage& operator=(const LivePage&) = delete;
    ~LivePage();

    struct Version {
        std::shared_ptr<const std::string> html;  // null: the folders have not been read yet
        std::string tag;                          // another one for each other text
    };
    // Returns the newest version, and has the next one made soon.
    Version look();

    // Can be read once there is a version.
    const FileDescriptor& ready() const noexcept;

private:
    struct Shared;
    std::shared_ptr<Shared> shared_;
};

}  // namespace lockstep::launcher::live
