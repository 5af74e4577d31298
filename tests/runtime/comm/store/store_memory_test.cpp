// SPDX-License-Identifier: Apache-2.0
// A program of its own because it replaces the allocation of memory.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/comm/net/socket.hpp"
#include "runtime/comm/store/store_client.hpp"
#include "runtime/comm/store/store_server.hpp"
#include "runtime/core/error.hpp"

using namespace lockstep;
using namespace lockstep::comm;

namespace {

std::atomic<bool> memory_is_short = false;
const std::thread::id test_thread = std::this_thread::get_id();

}  // namespace

void* operator new(std::size_t bytes) {
    const bool refused =
        memory_is_short && bytes > 100'000 && std::this_thread::get_id() != test_thread;
    void* const memory = refused ? nullptr : std::malloc(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

TEST_CASE("a store without memory for one rank's value goes on to serve the others") {
    std::vector<FileDescriptor> listeners;
    listeners.push_back(listen_on(resolve("127.0.0.1", 0).front()).socket);
    const SocketAddress address = local_address_of(listeners.front());
    const StoreServer server(std::move(listeners), Secret("s"), StoreLimits());
    StoreClient large({address}, {address.port()}, Secret("s"), 5'000, 5'000);
    StoreClient small({address}, {address.port()}, Secret("s"), 5'000, 5'000);
    memory_is_short = true;
    CHECK_THROWS_AS(large.set("large", std::string(900'000, 'x')), Error);
    memory_is_short = false;
    small.set("small", "y");
    CHECK(small.get("small", 5'000) == "y");
    large.reconnect(5'000);
    large.set("large", "z");
    CHECK(small.get("large", 5'000) == "z");
}
