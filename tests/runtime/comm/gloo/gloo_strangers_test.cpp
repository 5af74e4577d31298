// SPDX-License-Identifier: Apache-2.0
// Connections of strangers in the moment when ranks connect.
#include <doctest/doctest.h>
#include <gloo/transport/context.h>
#include <gloo/transport/tcp/address.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/comm/gloo/gloo_transport.hpp"
#include "runtime/comm/gloo/peer_greeting.hpp"
#include "runtime/comm/gloo/proven_device.hpp"
#include "runtime/comm/net/socket.hpp"
#include "runtime/core/error.hpp"
#include "tests/runtime/comm/free_port.hpp"
#include "tests/runtime/comm/gloo/passing_store.hpp"
#include "tests/runtime/comm/relay.hpp"

using namespace lockstep;
using namespace lockstep::comm;

namespace {

// Shows the address at which a rank waits for its one peer, and may replace it.
class Meddling : public PassingStore {
public:
    using Meddle = std::function<SocketAddress(const SocketAddress&)>;

    Meddling(std::shared_ptr<Store> store, Meddle meddle)
        : PassingStore(std::move(store)), meddle_(std::move(meddle)) {}
    void set(const std::string& key, const std::string& value) override {
        const std::size_t address_bytes = gloo::transport::tcp::Address().bytes().size();
        PassingStore::set(key, value.size() == address_bytes ? replaced(value) : value);
    }

private:
    std::string replaced(std::string value) const {
        SocketAddress address;
        std::memcpy(&address.storage, value.data(), sizeof address.storage);
        address.length = sizeof(sockaddr_in);
        address = meddle_(address);
        std::memcpy(value.data(), &address.storage, sizeof address.storage);
        return value;
    }

    Meddle meddle_;
};

std::string joined(int rank, int port, int timeout_ms, const Meddling::Meddle& meddle) {
    RankInfo rank_info = alone();
    rank_info.rank = rank_info.local_rank = rank;
    rank_info.size = rank_info.local_size = 2;
    rank_info.source = RankSource::flags;
    rank_info.master_addr = "127.0.0.1";
    rank_info.master_port = port;
    try {
        std::shared_ptr<Store> store = open_store(rank_info, Secret("of the test"), timeout_ms);
        if (rank == 0) store = std::make_shared<Meddling>(store, meddle);
        GlooOptions options;
        // Of two ranks, the one with the lower address listens.
        options.address = rank == 0 ? "127.0.0.1" : "127.0.0.3";
        options.timeout_ms = timeout_ms;
        connect_gloo(rank, 2, store, options)->barrier();
    } catch (const Error& error) {
        return std::string(name(error.kind())) + ": " + error.what();
    }
    return "";
}

// Connects two ranks, and returns what each of them threw.
std::array<std::string, 2> join_two(int timeout_ms, const Meddling::Meddle& meddle) {
    const int port = tests::free_port();
    auto other = std::async(std::launch::async, joined, 1, port, timeout_ms, meddle);
    std::string own = joined(0, port, timeout_ms, meddle);
    return {std::move(own), other.get()};
}

void say(const FileDescriptor& socket, const std::string& bytes) {
    CHECK(::send(socket.raw(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(bytes.size()));
}

void leave_with_reset(FileDescriptor socket) {
    const linger now{1, 0};
    ::setsockopt(socket.raw(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

}  // namespace

TEST_CASE("a stranger cannot sit between two ranks and pass their proofs on") {
    auto [listener, failure] = listen_on(resolve("127.0.0.2", 0).front());
    REQUIRE(listener);
    const SocketAddress here = local_address_of(listener);
    SocketAddress there;
    std::unique_ptr<tests::Relay> relay;
    const auto ends = join_two(5000, [&](const SocketAddress& address) {
        there = address;
        relay = std::make_unique<tests::Relay>(listener, there);
        return here;
    });
    CHECK(relay->passed_on() > 0);
    CHECK(ends[0].find("peer: rank 1 did not answer within ") == 0);
    CHECK(ends[0].find("another program has connected that does not know this job's secret") !=
          std::string::npos);
    CHECK(ends[1].find("peer: rank 0 did not answer within ") == 0);
    CHECK(ends[1].find("another program has connected that does not know this job's secret") !=
          std::string::npos);
}

TEST_CASE("strangers who come before the peer do not end the start") {
    for (const std::string what : {"silent", "left", "reset", "half", "noise", "many"}) {
        CAPTURE(what);
        std::vector<FileDescriptor> strangers;
        const auto ends = join_two(20'000, [&](const SocketAddress& address) {
            for (int i = 0; i < (what == "many" ? 200 : 1); ++i)
                strangers.push_back(connect_to(address, 1000));
            if (what == "half") say(strangers[0], "half");
            if (what == "noise") say(strangers[0], std::string(1000, 'x'));
            if (what == "left") strangers.clear();
            if (what == "reset") leave_with_reset(std::move(strangers[0]));
            return address;
        });
        CHECK(ends[0] == "");
        CHECK(ends[1] == "");
    }
}

TEST_CASE("bytes that Gloo's thread does not understand end waits, not the process") {
    const auto device_at = [](const char* address) {
        return std::make_shared<ProvenDevice>(gloo::transport::tcp::attr(address), "key");
    };
    const auto first = device_at("127.0.0.1"), second = device_at("127.0.0.1");
    const auto own = first->createContext(0, 2), others = second->createContext(1, 2);
    for (const auto& context : {own, others}) context->setTimeout(std::chrono::seconds(20));
    auto& pair = own->createPair(1);
    const gloo::transport::tcp::Address here(pair->address().bytes());
    const auto there = others->createPair(0)->address().bytes();
    const std::int64_t number = gloo::transport::tcp::Address(there).getSeq();
    SocketAddress address;
    address.storage = here.getSockaddr();
    address.length = sizeof(sockaddr_in);
    const PeerGreeting greeting{"key", 1, 0, number, here.getSeq()};
    auto peer = std::async(std::launch::async, [&] {
        return connect_peer(address, greeting, {20'000, [] { return false; }});
    });
    pair->connect(there);
    // The data of a message that nobody has asked for: size, kind, slot, offset, length, offset.
    const std::array<std::size_t, 6> message{80, 1, 0x44, 0, 32, 0};
    say(peer.get(), std::string(reinterpret_cast<const char*>(message.data()), sizeof message));
    std::array<char, 8> data{};
    const auto buffer = own->createUnboundBuffer(data.data(), data.size());
    CHECK_THROWS([&] {
        buffer->recv(1, 7);
        buffer->waitRecv(std::chrono::seconds(20));
    }());
}
