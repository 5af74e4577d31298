// SPDX-License-Identifier: Apache-2.0
// Connections of strangers, and of ranks that do not belong to the job.
#include <doctest/doctest.h>
#include <sys/socket.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/comm/net/socket.hpp"
#include "runtime/comm/store/frame_seal.hpp"
#include "runtime/comm/store/store.hpp"
#include "runtime/comm/store/store_client.hpp"
#include "runtime/comm/store/store_join.hpp"
#include "runtime/comm/store/store_protocol.hpp"
#include "runtime/comm/store/store_search.hpp"
#include "runtime/core/error.hpp"
#include "tests/runtime/comm/free_port.hpp"
#include "tests/runtime/comm/relay.hpp"
#include "tests/runtime/comm/store/served_store.hpp"

using namespace lockstep;
using namespace lockstep::comm;
using namespace lockstep::tests;

TEST_CASE("neither a recorded proof nor the server's own opens a second connection") {
    const Secret secret("s");
    const std::string a(32, 'a'), b(32, 'b'), c(32, 'c');
    const auto proof = protocol::client_proof(secret, {a, b, 1});
    CHECK_FALSE(protocol::equal_proofs(proof, protocol::client_proof(secret, {c, b, 1})));
    CHECK_FALSE(protocol::equal_proofs(proof, protocol::client_proof(secret, {a, b, 2})));
    CHECK_FALSE(protocol::equal_proofs(proof, protocol::server_proof(secret, {a, b, 1})));
    CHECK_FALSE(protocol::equal_proofs(proof, protocol::session_key(secret, {a, b, 1})));
    CHECK_FALSE(protocol::equal_proofs(proof, protocol::client_proof(Secret("t"), {a, b, 1})));
    CHECK(protocol::equal_proofs(proof, protocol::client_proof(secret, {a, b, 1})));
}

TEST_CASE("a stranger on the first port cannot pass the greeting on to the store") {
    const Served served(Secret("s"));
    auto [listener, failure] = listen_on(resolve("127.0.0.1", 0).front());
    REQUIRE(listener);
    const SocketAddress here = local_address_of(listener);
    const Relay relay(listener, served.address);
    const auto refused = joined_or_not(here, {Secret("s"), {}});
    CHECK(refused.outcome() == JoinAttempt::Outcome::refused);
    CHECK(refused.why().find("another secret") != std::string::npos);
    CHECK(relay.passed_on() > 0);
    const StoreClient client({here}, {here.port(), served.port()}, Secret("s"), 5000);
    CHECK(client.port() == served.port());
}

TEST_CASE("a connection ends when a frame is changed, repeated or made up") {
    const Served served(Secret("s"));
    protocol::Greeting greeting;
    for (const std::string what : {"sound", "changed", "repeated", "made up"}) {
        const FileDescriptor socket = greet(served.address, Secret("s"), 1000, &greeting);
        protocol::FrameSeal seal(Secret("s"), greeting, protocol::FrameSeal::Side::client);
        const auto put = [&](const std::string& bytes) {
            CHECK(::send(socket.raw(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0);
        };
        const protocol::Request request{protocol::Command::set, 0, "k of " + what, "v"};
        std::string bytes = protocol::frame(seal.sealed(protocol::encode(request)));
        if (what == "changed") bytes.at(20) ^= 1;
        if (what == "made up") bytes = protocol::frame(protocol::encode(request));
        put(bytes);
        if (what == "repeated") put(bytes);
        if (what == "sound") {
            CHECK(!receive(socket, 1).empty());
            continue;
        }
        CHECK_MESSAGE(closed_by_peer(socket), what);
    }
    CHECK(served.server->values("k of ").size() == 2);  // "repeated" was sound the first time
}

TEST_CASE("connections without a proof are limited, and the oldest goes first") {
    StoreLimits limits;
    limits.unproven = 8;
    const Served served(Secret("s"), limits);
    std::vector<FileDescriptor> silent;
    for (int i = 0; i < 20; ++i) {
        silent.push_back(connect_to(served.address, 1000));
        CHECK(!receive(silent.back(), 1).empty());  // the server has taken it
    }
    for (std::size_t i = 0; i < 12; ++i) CHECK(closed_by_peer(silent[i]));
    CHECK_FALSE(wait_for(silent.back(), POLLIN, 0));
    StoreClient client = served.client(Secret("s"));
    client.set("k", "v");
}

TEST_CASE("a second process with the same rank is refused, and the first stays") {
    const int port = tests::free_port();
    const auto zero = open_store(rank_info_of(0, 2, port), Secret("s"), 5000);
    const auto twin = open_store(rank_info_of(1, 2, port), Secret("s"), 5000);
    const auto one = open_store(rank_info_of(1, 2, port), Secret("s"), 5000);
    auto joins = std::async(std::launch::async, [&] {
        join_store(*one, rank_info_of(1, 2, port), 5000);
        return kind_of([&] { join_store(*twin, rank_info_of(1, 2, port), 5000); });
    });
    join_store(*zero, rank_info_of(0, 2, port), 5000);
    CHECK(joins.get().find("config: rank 1 of 2 has joined already, from " + host_name()) == 0);
}

TEST_CASE("ranks of another number of ranks, run or restart do not meet") {
    RankInfo rank_info = rank_info_of(0, 2, tests::free_port());
    const auto zero = open_store(rank_info, Secret("s"), 5000);
    rank_info.rank = rank_info.local_rank = 1;
    CHECK(kind_of([&] { open_store(rank_info, Secret("s"), 5000); }).empty());
    rank_info.size = rank_info.local_size = 3;
    CHECK(kind_of([&] { open_store(rank_info, Secret("s"), 500); }).find("another secret") !=
          std::string::npos);
    rank_info.size = rank_info.local_size = 2;
    rank_info.job = "12.0 restart 1";
    CHECK(kind_of([&] { open_store(rank_info, Secret("s"), 500); }).find("another secret") !=
          std::string::npos);
}

TEST_CASE("silent, half-open and hostile connections hold up nobody and are closed") {
    StoreLimits limits;
    limits.greeting_ms = 50;
    const Served served(Secret("s"), limits);
    std::vector<FileDescriptor> silent;
    for (int i = 0; i < 20; ++i) silent.push_back(connect_to(served.address, 1000));
    const FileDescriptor garbage = connect_to(served.address, 1000);
    const std::string text = "GET / HTTP/1.1\r\n\r\n";
    REQUIRE(::send(garbage.raw(), text.data(), text.size(), MSG_NOSIGNAL) > 0);
    const FileDescriptor huge = connect_to(served.address, 1000);
    const std::string length("\xff\xff\xff\xff", 4);
    REQUIRE(::send(huge.raw(), length.data(), length.size(), MSG_NOSIGNAL) > 0);

    StoreClient client = served.client(Secret("s"));
    client.set("k", "v");
    CHECK(client.get("k", 0) == "v");
    CHECK(closed_by_peer(garbage));
    CHECK(closed_by_peer(huge));
    for (const auto& socket : silent) CHECK(closed_by_peer(socket));
    CHECK(client.get("k", 0) == "v");  // open for longer than a greeting may take
}

// Without a head start that ends, each program would cost the 5 s of an attempt.
TEST_CASE(
    "programs that listen on the store's ports and say nothing delay a rank by a moment only") {
    const int first = tests::free_port();
    const auto here = resolve("127.0.0.1", first).front();
    std::vector<int> ports;
    std::vector<FileDescriptor> listeners;
    for (int port = first; port < first + 9; ++port) {
        ports.push_back(port);
        listeners.push_back(listen_on(here.with_port(port)).socket);
        REQUIRE(listeners.back());
    }
    std::vector<FileDescriptor> last;
    last.push_back(std::move(listeners.back()));
    const StoreServer server(std::move(last), Secret("s"), {});
    const JoinAttempt joined =
        find_store({here}, ports, {Secret("s"), {}}, 30'000, std::chrono::milliseconds(20));
    CHECK(joined.address().port() == ports.back());
}

// The place where a rank finds the store decides through which network it talks.
TEST_CASE("of two stores the first is taken, though it answers a moment later") {
    const Served second(Secret("s"));
    const auto first = resolve("127.0.0.1", tests::free_port()).front();
    std::vector<FileDescriptor> listeners;
    listeners.push_back(listen_on(first).socket);  // the kernel takes connections from now on
    REQUIRE(listeners.front());
    std::unique_ptr<StoreServer> server;
    const std::jthread later([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(60));
        server = std::make_unique<StoreServer>(std::move(listeners), Secret("s"), StoreLimits());
    });
    const JoinAttempt joined = find_store({first}, {first.port(), second.port()}, {Secret("s"), {}},
                                          60'000, std::chrono::minutes(1));
    CHECK(joined.address().port() == first.port());
}

TEST_CASE("each place is tried, though the time is over at once") {
    const Served served(Secret("s"));
    const int nobody = tests::free_port();
    const auto what = kind_of([&] {
        StoreClient({served.address}, {nobody, served.port()}, Secret("s"), 0);
    });
    // How far the second place's answer came depends on the machine.
    CHECK(what.find("nobody listens there") == std::string::npos);
}

TEST_CASE("a port scanner that comes and goes leaves nothing behind") {
    const Served served(Secret("s"));
    StoreClient client = served.client(Secret("s"));
    const linger reset_at_once{1, 0};
    for (int i = 0; i < 300; ++i) {
        const FileDescriptor scanner = connect_to(served.address, 1000);
        REQUIRE(scanner);
        ::setsockopt(scanner.raw(), SOL_SOCKET, SO_LINGER, &reset_at_once, sizeof reset_at_once);
    }
    client.set("k", "v");
    CHECK(served.client(Secret("s")).get("k", 0) == "v");
}

TEST_CASE("a greeting may arrive byte by byte, and who does not read its answers waits alone") {
    const Secret secret("s");
    const Served served(secret);
    StoreClient client = served.client(secret);
    const std::string large(500'000, 'x');
    client.set("large", large);
    protocol::Greeting greeting;
    const FileDescriptor deaf = greet(served.address, secret, 1, &greeting);
    protocol::FrameSeal seal(secret, greeting, protocol::FrameSeal::Side::client);
    std::size_t asked = 0;
    for (int i = 0; i < 100'000; ++i) {  // until the buffers of both sides are full
        if (!wait_for(deaf, POLLOUT, 100)) break;
        const std::string request = protocol::frame(
            seal.sealed(protocol::encode({protocol::Command::get, 0, "large", ""})));
        const auto sent = ::send(deaf.raw(), request.data(), request.size(), MSG_NOSIGNAL);
        if (sent != static_cast<std::ptrdiff_t>(request.size())) break;
        ++asked;
    }
    CHECK(asked > 0);
    CHECK(client.get("large", 0) == large);
    CHECK(receive(deaf, large.size()).size() >= large.size());  // it may still begin to read
}

TEST_CASE("a connection that is reset while its request is served is not taken for a closed one") {
    const Secret secret("s");
    const Served served(secret);
    for (int i = 0; i < 300; ++i) {
        protocol::Greeting greeting;
        const FileDescriptor socket = greet(served.address, secret, 1'000, &greeting);
        protocol::FrameSeal seal(secret, greeting, protocol::FrameSeal::Side::client);
        const std::string key = "will/" + std::to_string(i);
        const auto ask = [&](protocol::Command command, const std::string& name) {
            const std::string bytes =
                protocol::frame(seal.sealed(protocol::encode({command, 0, name, "closed"})));
            CHECK(::send(socket.raw(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0);
        };
        ask(protocol::Command::will, key);
        REQUIRE(!receive(socket, 1).empty());
        for (int request = 0; request < i % 8; ++request) ask(protocol::Command::set, "k");
        const sockaddr nobody{AF_UNSPEC, {}};
        REQUIRE(::connect(socket.raw(), &nobody, sizeof nobody) == 0);  // a reset
        StoreClient client = served.client(secret);
        CHECK(client.get(key, 5'000) == StoreServer::broken);
    }
}

TEST_CASE("a request that is too long or cut short is not believed") {
    const Served served(Secret("s"));
    StoreClient client = served.client(Secret("s"));
    CHECK_THROWS_AS(client.set("k", std::string(protocol::max_frame_bytes, 'x')), Error);
    const std::string whole =
        protocol::encode(protocol::Request{protocol::Command::set, 1, "k", "v"});
    CHECK(protocol::decode_request(whole).has_value());
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
        CHECK_FALSE(protocol::decode_request(whole.substr(0, bytes)).has_value());
    }
    CHECK_FALSE(protocol::decode_request(whole + "x").has_value());
    CHECK_FALSE(protocol::decode_request('\0' + whole.substr(1)).has_value());
}
