// SPDX-License-Identifier: Apache-2.0
#include "runtime/comm/store/store.hpp"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <functional>
#include <future>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "runtime/comm/net/socket.hpp"
#include "runtime/comm/store/frame_seal.hpp"
#include "runtime/comm/store/store_client.hpp"
#include "runtime/comm/store/store_join.hpp"
#include "runtime/comm/store/store_protocol.hpp"
#include "runtime/comm/store/store_server.hpp"
#include "runtime/core/error.hpp"
#include "tests/runtime/comm/free_port.hpp"

using namespace lockstep;
using namespace lockstep::comm;

namespace {

RankInfo rank_info_of(int rank, int size, int port) {
    RankInfo rank_info = alone();
    rank_info.rank = rank;
    rank_info.size = size;
    rank_info.local_rank = rank;
    rank_info.local_size = size;
    rank_info.master_addr = "127.0.0.1";
    rank_info.master_port = port;
    return rank_info;
}

std::string value_of(int rank) { return std::string(1000, static_cast<char>('a' + rank)); }

std::string kind_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        return std::string(name(error.kind())) + ": " + error.what();
    }
    return "";
}

// Closes envelopes for one user, as Munge does.
class FakeEnvelope : public SecretEnvelope {
public:
    explicit FakeEnvelope(std::string user) : user_(std::move(user)) {}
    std::string close(const std::string& text) override { return user_ + ":" + text; }
    std::optional<std::string> open(const std::string& credential) override {
        if (!credential.starts_with(user_ + ":")) return std::nullopt;
        return credential.substr(user_.size() + 1);
    }

private:
    std::string user_;
};

// A server on its own port, and the raw connections that strangers would make.
struct Served {
    explicit Served(const Secret& secret, StoreLimits limits = {})
        : address(resolve("127.0.0.1", tests::free_port()).front()) {
        std::vector<FileDescriptor> listeners;
        listeners.push_back(listen_on(address).socket);
        server = std::make_unique<StoreServer>(std::move(listeners), secret, limits);
    }
    StoreClient client(const Secret& secret, int timeout_ms = 5000) const {
        return {{address}, {port()}, secret, timeout_ms};
    }
    int port() const { return address.port(); }

    SocketAddress address;
    std::unique_ptr<StoreServer> server;
};

// Returns the bytes that arrive, at least `bytes` of them.
std::string receive(const FileDescriptor& socket, std::size_t bytes) {
    std::string text;
    std::array<char, 4096> buffer;
    while (text.size() < bytes && wait_for(socket, POLLIN, 5000)) {
        const auto got = ::recv(socket.raw(), buffer.data(), buffer.size(), 0);
        if (got <= 0) break;
        text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return text;
}

// Greets as a rank does, with the proof cut into pieces of `piece` bytes.
FileDescriptor greet(const SocketAddress& address, const Secret& secret, std::size_t piece,
                     protocol::Greeting* agreed = nullptr) {
    FileDescriptor socket = connect_to(address, 1000);
    const std::size_t length_bytes = 4;
    const auto hello =
        receive(socket, length_bytes + protocol::magic.size() + protocol::nonce_bytes);
    const auto server_nonce = hello.substr(length_bytes + protocol::magic.size());
    const protocol::Greeting greeting{server_nonce, protocol::random_nonce(), address.port()};
    const std::string proof =
        protocol::frame(greeting.client_nonce + protocol::client_proof(secret, greeting));
    for (std::size_t sent = 0; sent < proof.size(); sent += piece) {
        const std::string part = proof.substr(sent, piece);
        CHECK(::send(socket.raw(), part.data(), part.size(), MSG_NOSIGNAL) > 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    CHECK(receive(socket, length_bytes + protocol::proof_bytes).size() ==
          length_bytes + protocol::proof_bytes);
    if (agreed != nullptr) *agreed = greeting;
    return socket;
}

// Takes the connections to one port and passes every byte on to another, both ways.
class Relay {
public:
    Relay(const FileDescriptor& from, const SocketAddress& to)
        : thread_([this, &from, to](const std::stop_token& stop) {
              while (!stop.stop_requested()) {
                  if (!wait_for(from, POLLIN, 20)) continue;
                  const FileDescriptor near(
                      ::accept4(from.raw(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
                  const FileDescriptor far = connect_to(to, 1000);
                  while (!stop.stop_requested() && pass(near, far) && pass(far, near)) {
                  }
              }
          }) {}
    int passed_on() const noexcept { return bytes_; }

private:
    bool pass(const FileDescriptor& from, const FileDescriptor& to) {
        if (!wait_for(from, POLLIN, 5)) return true;
        std::array<char, 4096> buffer;
        const auto got = ::recv(from.raw(), buffer.data(), buffer.size(), 0);
        if (got <= 0) return false;
        bytes_ += static_cast<int>(got);
        return ::send(to.raw(), buffer.data(), static_cast<std::size_t>(got), MSG_NOSIGNAL) == got;
    }

    std::atomic<int> bytes_ = 0;
    std::jthread thread_;
};

bool closed_by_peer(const FileDescriptor& socket) {
    std::array<char, 256> buffer;
    while (wait_for(socket, POLLIN, 5000)) {
        const auto got = ::recv(socket.raw(), buffer.data(), buffer.size(), 0);
        if (got == 0 || (got < 0 && errno == ECONNRESET)) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("ranks exchange values, wait for them, and count") {
    for (const Secret& secret : {Secret(), Secret("shared")}) {
        const int port = tests::free_port();
        std::vector<std::int64_t> sums(4);
        std::vector<std::thread> ranks;
        for (int rank = 3; rank >= 0; --rank) {  // rank 0 comes last: the others must wait for it
            ranks.emplace_back([&, rank] {
                const auto store = open_store(rank_info_of(rank, 4, port), secret, 10'000);
                store->set("from " + std::to_string(rank), value_of(rank));
                const int next = (rank + 1) % 4;
                CHECK(store->get("from " + std::to_string(next), 10'000) == value_of(next));
                sums[static_cast<std::size_t>(rank)] = store->add("count", 1);
                store->add("left", 1);
                while (rank == 0 && store->add("left", 0) < 4) std::this_thread::yield();
            });
        }
        for (auto& rank : ranks) rank.join();
        std::sort(sums.begin(), sums.end());
        CHECK(sums == std::vector<std::int64_t>{1, 2, 3, 4});
    }
}

TEST_CASE("a value is overwritten, and may be empty or hold any byte") {
    const Served served(Secret("s"));
    StoreClient client = served.client(Secret("s"));
    client.set("k", "one");
    client.set("k", std::string("\0\n\xff", 3));
    CHECK(client.get("k", 0) == std::string("\0\n\xff", 3));
    client.set("empty", "");
    CHECK(client.get("empty", 0).empty());
    CHECK(client.local_address() == "127.0.0.1");
}

TEST_CASE("a key that nobody sets is a missing rank, and the connection goes on") {
    const Served served(Secret("s"));
    StoreClient client = served.client(Secret("s"));
    const auto what = kind_of([&] { client.get("never", 20); });
    CHECK(what.find("peer: ") == 0);
    CHECK(what.find("never") != std::string::npos);
    CHECK(client.add("count", 2) == 2);
}

TEST_CASE("another secret is refused on both sides") {
    const Served served(Secret("right"));
    const auto what = kind_of([&] { served.client(Secret("wrong"), 100); });
    CHECK(what.find("peer: ") == 0);
    CHECK(what.find("another secret") != std::string::npos);
    CHECK(what.find("right") == std::string::npos);
    CHECK(what.find("wrong") == std::string::npos);
}

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
    const StoreClient client({here}, {here.port(), served.port()}, Secret("s"), 5000);
    CHECK(relay.passed_on() > 0);
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
    CHECK(kind_of([&] { open_store(rank_info, Secret("s"), 100); }).find("another secret") !=
          std::string::npos);
    rank_info.size = rank_info.local_size = 2;
    rank_info.job = "12.0 restart 1";
    CHECK(kind_of([&] { open_store(rank_info, Secret("s"), 100); }).find("another secret") !=
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

TEST_CASE("the store of one host listens on the loopback address that is needed, and no other") {
    const int port = tests::free_port();
    const auto zero = open_store(rank_info_of(0, 2, port), Secret("s"), 5000);
    CHECK(connect_to(resolve("127.0.0.1", port).front(), 1000));
    CHECK_FALSE(connect_to(resolve("127.0.0.2", port).front(), 1000));
}

TEST_CASE(
    "ranks of one host all meet by one family of loopback, also where another job has the other") {
    const int port = tests::free_port();
    const auto other_job = listen_on(resolve("::1", port).front());
    const auto zero = open_store(rank_info_of(0, 2, port), Secret("s"), 5000);
    const auto one = open_store(rank_info_of(1, 2, port), Secret("s"), 5000);
    CHECK(zero->local_address() == "127.0.0.1");
    CHECK(one->local_address() == "127.0.0.1");
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

TEST_CASE("a store does not grow without bound") {
    StoreLimits limits;
    limits.stored_bytes = 1000;
    const Served served(Secret("s"), limits);
    StoreClient client = served.client(Secret("s"));
    client.set("k", std::string(900, 'x'));
    client.set("k", std::string(950, 'x'));  // replaces the value
    CHECK(kind_of([&] { client.set("l", std::string(100, 'x')); }).find("store: ") == 0);
    CHECK(client.get("k", 0).size() == 950);
}

TEST_CASE("the first free port is taken, and ranks find it past another job's store") {
    const Served other(Secret("another job"));
    const Secret secret("this job");
    const auto zero = open_store(rank_info_of(0, 2, other.port()), secret, 5000);
    const auto one = open_store(rank_info_of(1, 2, other.port()), secret, 5000);
    zero->set("k", "v");
    CHECK(one->get("k", 1000) == "v");
}

TEST_CASE("rank 0's end is seen by a rank that waits") {
    const Secret secret("s");
    const int port = tests::free_port();
    auto zero = open_store(rank_info_of(0, 2, port), secret, 5000);
    const auto one = open_store(rank_info_of(1, 2, port), secret, 5000);
    auto waiting =
        std::async(std::launch::async, [&] { return kind_of([&] { one->get("never", 60'000); }); });
    zero.reset();
    CHECK(waiting.get().find("peer: ") == 0);
    CHECK(kind_of([&] { one->add("count", 1); }).find("peer: ") == 0);
}

TEST_CASE("256 ranks join, and their store serves all") {
    constexpr int size = 256;
    const int port = tests::free_port();
    allow_connections(2 * size);
    std::atomic<int> joined = 0;
    std::latch all(size);
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < size; ++rank) {
        ranks.emplace_back([&, rank] {
            const auto store = open_store(rank_info_of(rank, size, port), Secret("s"), 60'000);
            join_store(*store, rank_info_of(rank, size, port), 60'000);
            ++joined;
            all.arrive_and_wait();
        });
    }
    for (auto& rank : ranks) rank.join();
    CHECK(joined == size);
}

TEST_CASE("joining names the ranks that have not come") {
    const int port = tests::free_port();
    const auto zero = open_store(rank_info_of(0, 8, port), Secret("s"), 5000);
    const auto five = open_store(rank_info_of(5, 8, port), Secret("s"), 5000);
    auto other = std::async(std::launch::async, [&] {
        return kind_of([&] { join_store(*five, rank_info_of(5, 8, port), 300); });
    });
    const auto what = kind_of([&] { join_store(*zero, rank_info_of(0, 8, port), 300); });
    CHECK(what.find("peer: only 2 of 8 ranks") == 0);
    CHECK(what.find("missing: rank 1-4, 6, 7; those here are on " + host_name() + ".") !=
          std::string::npos);
    CHECK(other.get() == what);
    CHECK(short_list({0, 2, 3, 5, 6, 7, 9}, 3) == "0, 2, 3, 5-7, ...");
}

TEST_CASE("a seal hands rank 0's secret to the same user, and one for each job") {
    const auto seal = std::make_shared<FakeEnvelope>("alice");
    const auto stranger = std::make_shared<FakeEnvelope>("mallory");
    const int port = tests::free_port();
    RankInfo rank_info = rank_info_of(0, 2, port);
    rank_info.job = "12.0";
    const auto zero = open_store(rank_info, Secret(), seal, 5000);
    zero->set("k", "v");
    rank_info.rank = rank_info.local_rank = 1;
    CHECK(open_store(rank_info, Secret(), seal, 5000)->get("k", 0) == "v");
    CHECK(kind_of([&] { open_store(rank_info, Secret(), stranger, 100); }).find("another user") !=
          std::string::npos);
    CHECK(kind_of([&] { open_store(rank_info, Secret(), nullptr, 100); }).find("needs Munge") !=
          std::string::npos);
    CHECK(kind_of([&] { open_store(rank_info, Secret("guess"), nullptr, 100); }).find("peer: ") ==
          0);
    rank_info.job = "13.0";
    CHECK(kind_of([&] { open_store(rank_info, Secret(), seal, 100); }).find("another secret") !=
          std::string::npos);
}

TEST_CASE("a store that shows no credential is not believed where there is a seal") {
    const auto seal = std::make_shared<FakeEnvelope>("alice");
    const int port = tests::free_port();
    const auto zero = open_store(rank_info_of(0, 2, port), Secret(), nullptr, 5000);
    CHECK(kind_of([&] {
              open_store(rank_info_of(1, 2, port), Secret(), seal, 100);
          }).find("without Munge") != std::string::npos);
}

TEST_CASE("what cannot work is refused with the remedy") {
    RankInfo rank_info = rank_info_of(0, 2, tests::free_port());
    rank_info.local_size = 1;
    rank_info.master_addr = "192.0.2.1";  // TEST-NET-1: belongs to nobody
    CHECK(kind_of([&] { open_store(rank_info, Secret(), nullptr, 100); }).find("LOCKSTEP_SECRET") !=
          std::string::npos);
    CHECK(kind_of([&] { open_store(rank_info, Secret("s"), 100); }).find("--master-addr") !=
          std::string::npos);
    rank_info.master_addr = "no-such-host.invalid";
    CHECK(kind_of([&] { open_store(rank_info, Secret("s"), 100); }).find("no-such-host.invalid") !=
          std::string::npos);
    const auto nobody = rank_info_of(1, 2, tests::free_port());
    CHECK(kind_of([&] { open_store(nobody, Secret("s"), 50); }).find("peer: ") == 0);
}
