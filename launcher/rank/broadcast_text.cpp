// SPDX-License-Identifier: Apache-2.0
#include "launcher/rank/broadcast_text.hpp"

#include <vector>

namespace lockstep::launcher {

std::string broadcast_text(comm::Communicator& communicator, std::string text, int root) {
    std::vector<std::uint64_t> size{text.size()};
    communicator.broadcast(view_of(size), root, "text size");
    communicator.finish();
    text.resize(size.front());
    if (text.empty()) return text;
    communicator.broadcast(
        HostView<std::byte>(reinterpret_cast<std::byte*>(text.data()), text.size()), root, "text");
    communicator.finish();
    return text;
}

}  // namespace lockstep::launcher
