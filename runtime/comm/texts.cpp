// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/texts.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace lockstep::comm {

namespace {

HostView<std::byte> bytes_of(std::string& text) {
    return {reinterpret_cast<std::byte*>(text.data()), text.size()};
}

}  // namespace

std::string broadcast_text(Communicator& communicator, std::string text, int root,
                           const std::string& label) {
    std::vector<std::uint64_t> size{text.size()};
    communicator.broadcast(view_of(size), root, label + " size");
    communicator.finish();
    text.resize(size.front());
    if (text.empty()) return text;
    communicator.broadcast(bytes_of(text), root, label);
    communicator.finish();
    return text;
}

std::vector<std::string> gather_texts(Communicator& communicator, std::string own,
                                      const std::string& label) {
    std::vector<std::uint64_t> size{own.size()};
    std::vector<std::uint64_t> sizes(static_cast<std::size_t>(communicator.size()));
    communicator.all_gather(view_of(size), view_of(sizes), label + " sizes");
    communicator.finish();
    if (communicator.rank() != 0) {
        if (!own.empty()) communicator.send(bytes_of(own), 0, label);
        communicator.finish();
        return {};
    }
    std::vector<std::string> texts(sizes.size());
    texts[0] = std::move(own);
    for (std::size_t rank = 1; rank < sizes.size(); ++rank) {
        texts[rank].resize(sizes[rank]);
        if (sizes[rank] > 0)
            communicator.recv(bytes_of(texts[rank]), static_cast<int>(rank), label);
        communicator.finish();
    }
    return texts;
}

}  // namespace lockstep::comm
