// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/comm/free_port.hpp"

#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "runtime/comm/net/socket.hpp"
#include "runtime/comm/store/store.hpp"

namespace lockstep::tests {

int free_port() {
    std::random_device random;
    const auto host = comm::resolve("127.0.0.1", 0).front();
    for (int attempt = 0; attempt < 100; ++attempt) {
        const int first = 20000 + static_cast<int>(random() % 10000);  // below the ephemeral ports
        std::vector<FileDescriptor> held;
        for (int port = first; port < first + comm::store_ports; ++port) {
            auto listening = comm::listen_on(host.with_port(port));
            if (!listening.socket) break;
            held.push_back(std::move(listening.socket));
        }
        if (held.size() == comm::store_ports) return first;
    }
    throw std::runtime_error("no free ports");
}

}  // namespace lockstep::tests
