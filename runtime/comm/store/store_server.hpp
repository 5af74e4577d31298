// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/comm/net/socket.hpp"
#include "runtime/comm/secret/secret.hpp"
#include "runtime/comm/store/store_connection.hpp"
#include "runtime/comm/store/store_protocol.hpp"
#include "runtime/comm/store/store_values.hpp"
#include "runtime/core/trace.hpp"

namespace lockstep::comm {

struct StoreLimits {
    int greeting_ms = 10'000;  // limit from the connection to a valid proof
    // Number of connections without a proof; one more ends the oldest of them.
    int unproven = 64;
    std::size_t stored_bytes = 64u << 20;
    // A connection ends if what was sent on it is not acknowledged for this time. 0: as long as the
    // system waits.
    int unacknowledged_ms = 0;
};

// Keeps the values and serves them. One thread serves all connections and never waits for a single
// one, so slow, silent and hostile ones delay nobody. Its work grows with the number of events, not
// with the number of connections.
class StoreServer {
public:
    // A will gets one of these values if its connection was reset, or if the other host did not
    // acknowledge what was sent. Both say less about the rank than a connection that was closed.
    static constexpr const char* broken = "broken";
    static constexpr const char* unacknowledged = "unacknowledged";

    // Holds how often a wrong proof was shown, and from where, for people; not set if there was
    // none.
    static constexpr const char* refused_key = "refused proofs";

    // `listeners` must already listen. `credential` is the sealed secret for clients that can open
    // it.
    StoreServer(std::vector<FileDescriptor> listeners, Secret secret, StoreLimits limits,
                std::string credential = {});
    // Closes every connection.
    ~StoreServer();
    StoreServer(const StoreServer&) = delete;
    StoreServer& operator=(const StoreServer&) = delete;

    // Returns the values whose keys begin with `prefix`. Any thread may call it.
    std::map<std::string, std::string> values(const std::string& prefix) const {
        return values_.with_prefix(prefix);
    }

private:
    using Id = std::uint64_t;  // never reused, so that late events find no connection

    struct Connection : StoreConnection {
        Id id = 0;
        std::uint32_t watched = 0;                  // epoll events
        std::optional<Clock::time_point> deadline;  // limit of the greeting or of the wait
        std::optional<std::string> waits_for;       // key that has not been set yet
        std::string will_key, will_value;
    };

    void loop();
    void attend_all();
    void handle(std::uint64_t id, std::uint32_t events);
    int milliseconds_to_next_deadline() const;
    void accept_all(const FileDescriptor& listener);
    void welcome(FileDescriptor socket);
    bool end_oldest_unproven();
    void limit_silence(const FileDescriptor& socket) const;
    void watch_listeners(std::uint32_t events);
    void attend(Id id, std::uint32_t events);
    static void note_failure(Connection& connection);
    void execute_will(Connection& connection);
    void watch(Connection& connection, int operation);
    void set_deadline(Connection& connection, std::optional<Clock::time_point> deadline);
    void end_expired();
    void end(Connection& connection);
    void forget(Id id);

    bool advance(Connection& connection);
    bool greet(Connection& connection, const std::string& payload);
    bool serve(Connection& connection, const std::string& payload);
    void answer_get(Connection& connection, const protocol::Request& request);
    void stop_waiting(Connection& connection);
    void wake(const std::string& key);
    void execute_wills();

    std::vector<FileDescriptor> listeners_;
    Secret secret_;
    std::string credential_;
    StoreLimits limits_;
    StoreValues values_;
    std::unordered_map<Id, Connection> connections_;
    std::set<Id> unproven_;  // ids ascend, so the oldest stands first
    std::set<std::pair<Clock::time_point, Id>> deadlines_;
    std::unordered_map<std::string, std::set<Id>> waiting_;  // connections that wait, by key
    std::map<std::string, std::string> wills_;               // wills of ended connections
    Id next_id_ = 0;
    std::uint64_t refused_ = 0;                       // proofs
    std::optional<Clock::time_point> listens_again_;  // set after descriptors ran out
    bool stopped_ = false;
    FileDescriptor stop_;
    FileDescriptor epoll_;
    std::thread thread_;  // the last member because the thread uses all the others
};

}  // namespace lockstep::comm
